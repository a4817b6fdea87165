//! Fuzzing without a compiler's help: inputs are changed at random and handed on, for as long as
//! is asked, and the first of each kind of answer is kept as a start for later runs.
//!
//! Each target runs for two seconds, or for as many as `FUZZ_SECONDS` says. With
//! `FUZZ_KEEP=1` new inputs are written to the corpus; commit those that are worth it.

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};
use tasks::stream::Stream;

/// No input may take longer, on however slow a machine.
const SLOW: Duration = Duration::from_secs(5);
/// Growth of the process after its first quarter that counts as a leak, in KiB.
const GROWTH: u64 = 64 << 10;
/// Longer inputs are cut.
const LONGEST: usize = 1 << 16;

/// Something that takes bytes from the other side.
pub trait FuzzTarget {
    /// How many things there are that take bytes, each by its own rules.
    fn aims(&self) -> usize {
        1
    }
    /// A well-formed input for one of them.
    fn seed(&self, aim: usize, stream: Stream) -> Vec<u8>;
    /// What is worth inserting.
    fn words(&self) -> &'static [&'static str];
    /// Hands over an input; answers in a word or two what came of it. Panics if it is wrong.
    fn take(&self, aim: usize, input: &[u8]) -> String;
}

/// Fuzzes a target whose corpus lies in `folder`.
pub fn fuzz(name: &str, folder: &Path, target: &impl FuzzTarget) {
    let seconds = std::env::var("FUZZ_SECONDS").map_or(2, |text| text.parse().unwrap());
    let keep = std::env::var_os("FUZZ_KEEP").is_some();
    let mut answers = BTreeSet::new();
    let mut corpus: Vec<(usize, Vec<u8>)> = Vec::new();
    let mut files: Vec<_> =
        fs_err::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        // `<aim>-<answer's hash>`
        let (aim, _) = path.file_name().unwrap().to_str().unwrap().split_once('-').unwrap();
        let (aim, input) = (aim.parse().unwrap(), fs_err::read(&path).unwrap());
        answers.insert(target.take(aim, &input));
        corpus.push((aim, input));
    }
    let started = Instant::now();
    let (whole, mut count, mut early) = (Duration::from_secs(seconds), 0_u64, None);
    while started.elapsed() < whole {
        let stream = Stream::root(1).child(name).index(count);
        let mut rng = stream.child("changes").rng();
        let aim = rng.random_range(0..target.aims());
        let (aim, mut input) = match corpus.choose(&mut rng) {
            Some(known) if rng.random_bool(0.5) => known.clone(),
            _ => (aim, target.seed(aim, stream.child("seed"))),
        };
        for _ in 0..rng.random_range(0..6) {
            change(&mut input, target.words(), &mut rng);
        }
        input.truncate(LONGEST);
        let began = Instant::now();
        let answer = target.take(aim, &input);
        assert!(began.elapsed() < SLOW, "{name}: slow on {:?}", String::from_utf8_lossy(&input));
        if answers.insert(answer.clone()) {
            if keep {
                fs_err::create_dir_all(folder).unwrap();
                let hash = Stream::root(0).child(&answer).seed();
                let name = format!("{aim}-{hash:016x}");
                fs_err::write(folder.join(name), &input).unwrap();
            }
            corpus.push((aim, input));
        }
        count += 1;
        if started.elapsed() > whole / 4 {
            early.get_or_insert_with(resident);
        }
    }
    let grown = resident().saturating_sub(early.unwrap_or_default());
    assert!(early.is_none() || grown < GROWTH, "{name}: grew by {grown} KiB");
    assert!(count > 100 && answers.len() > 2, "{name}: {count} inputs, answers {answers:?}");
    println!("{name}: {count} inputs, {} kinds of answers, grew by {grown} KiB", answers.len());
}

/// One change: bytes or lines that go, come, move or turn into something else.
fn change(input: &mut Vec<u8>, words: &[&str], rng: &mut ChaCha8Rng) {
    let length = input.len();
    let at = rng.random_range(0..=length);
    let to = (at + rng.random_range(0..40)).min(length);
    match rng.random_range(0..9) {
        0 if at < length => input[at] = rng.random(),
        1 => drop(input.drain(at..to)),
        2 => {
            let piece = input[at..to].to_vec();
            let place = rng.random_range(0..=length);
            input.splice(place..place, piece);
        }
        3 | 4 => {
            let word = words.choose(rng).copied().unwrap_or_default();
            input.splice(at..at, word.bytes());
        }
        5 => {
            let word = words.choose(rng).copied().unwrap_or_default();
            input.splice(at..to, word.bytes());
        }
        6 => {
            // A run of one byte, which is what depth and length limits are for.
            let byte = if at < length { input[at] } else { b'(' };
            let count = [100, 5000, 40_000].choose(rng).copied().unwrap_or(100);
            input.splice(at..at, std::iter::repeat_n(byte, count));
        }
        _ => {
            let mut lines: Vec<Vec<u8>> =
                input.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let (a, b) = (rng.random_range(0..lines.len()), rng.random_range(0..lines.len()));
            match rng.random_range(0..3) {
                0 => lines.swap(a, b),
                1 => drop(lines.remove(a)),
                _ => lines.insert(a, lines[b].clone()),
            }
            *input = lines.join(&b'\n');
        }
    }
}

/// Resident memory of this process, in KiB.
fn resident() -> u64 {
    let status = fs_err::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
