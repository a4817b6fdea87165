//! What an agent can make a grade cost: memory to the byte, over malformed submissions of many
//! shapes to every metric and competition.
//!
//! `BOUNDS_MIB=64` takes the largest files there are, with every metric; `cargo bench -p sandbox
//! --bench grading` also says how long each takes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod meter;
mod reference;
mod sessions;
mod shapes;
mod targets;

use proptest::prelude::*;
use std::sync::{Mutex, PoisonError};
use support::random;
use targets::GradingTarget;
use tasks::metrics::Metric;
use tasks::stream::Stream;
use tasks::submission::{MOST_BYTES, Part, Submission, read_answers};
use tasks::values;

/// The most that one grade may take.
const MOST: usize = 256 << 20;

/// Held by who counts: memory of tests that run at the same time would count for both.
static ALONE: Mutex<()> = Mutex::new(());

fn check(shape: shapes::SubmissionShape, target: &GradingTarget, size: usize) {
    let file = shape.write(target, size);
    let (graded, cost) = meter::measure(|| (target.grade)(&file));
    let whole = cost.memory + file.len();
    let most = (4 * file.len() + target.allowance).min(MOST);
    let (task, shape) = (&target.name, shape.name());
    assert!(whole <= most, "{task}, {shape}: {whole} bytes of {most} to say {graded:?}");
    // How long it takes is a matter for the benchmark; here nothing may hang.
    assert!(cost.time.as_secs() < 60, "{task}, {shape}: {:?}", cost.time);
    // It says so in a line, and quotes little.
    if let Err(text) = graded {
        assert!(text.len() < 2000 && !text.contains(char::is_control), "{task}, {shape}: {text:?}");
    }
}

#[test]
fn no_submission_takes_more_memory_than_its_task_can_need() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let size = std::env::var("BOUNDS_MIB").map_or(1, |text| text.parse().unwrap()) << 20;
    let all = size > 1 << 20;
    let tasks = targets::tasks();
    let competitions = targets::competitions(64 << 20);
    let shapes: Vec<_> = shapes::all().collect();
    assert!(shapes.len() >= 200);
    for (number, shape) in shapes.iter().enumerate() {
        // In a short run, each shape meets a part of the tasks, and each task a part of the
        // shapes; the steps have no factor in common.
        let chosen = |targets: &[GradingTarget], index: usize| {
            all || (index + number).is_multiple_of(targets.len() / 6)
        };
        for targets in [&tasks, &competitions] {
            for (index, target) in targets.iter().enumerate() {
                if chosen(targets, index) {
                    check(*shape, target, size);
                }
            }
        }
    }
    // The largest file, in a few shapes of every place and of most things that are repeated.
    let largest = usize::try_from(MOST_BYTES).unwrap();
    for (number, shape) in shapes.iter().enumerate().filter(|(number, _)| number % 14 == 0) {
        let targets = [&tasks, &competitions][number / 14 % 2];
        check(*shape, &targets[number % targets.len()], largest);
    }
}

#[test]
fn valid_submissions_take_no_more() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let size = std::env::var("BOUNDS_MIB").map_or(1, |text| text.parse().unwrap()) << 20;
    for (metric, kind) in targets::pairs() {
        let mut target = targets::large(metric, kind, size);
        let file = target.valid();
        target.rows = Vec::new();
        let (graded, cost) = meter::measure(|| (target.grade)(&file));
        assert!(graded.is_ok(), "{}: {graded:?}", target.name);
        let whole = cost.memory + file.len();
        let most = 4 * file.len() + (1 << 20);
        assert!(whole <= most, "{}: {whole} bytes of {most}", target.name);
    }
}

#[test]
fn concurrent_grades_share_one_memory_budget() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let cost = sessions::grade_at_once(64, 16 << 20);
    // All at once would take 1 GiB for the files alone.
    assert!(cost.memory < 800 << 20, "{} bytes", cost.memory);
}

/// Letters and words that make and break tables.
const WORDS: [&str; 22] = [
    "id",
    "y",
    ",",
    "\n",
    "\r\n",
    "\"",
    " ",
    "r0",
    "r1",
    "r2",
    "0",
    "1",
    "0.5",
    "1e9",
    "nan",
    "-",
    "c0",
    "c1",
    "\u{feff}",
    "é",
    "\u{2003}",
    "c0 1 1 1 1 1",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn streamed_rows_equal_whole_tables(
        which in 0..1000_usize,
        seed in any::<u64>(),
        changes in proptest::collection::vec((0..1_000_000_usize, 0..WORDS.len() + 2, 0..12_usize), 0..3),
    ) {
        let pairs = targets::pairs();
        let (metric, kind) = pairs[which % pairs.len()];
        let case = random::case(metric, kind, Stream::root(seed));
        let table = |columns: &[&str], rows: &[Vec<String>]| {
            let rows = rows.iter().enumerate().rev();
            let lines = rows.map(|(row, cells)| format!("r{row},{}\n", random::line(cells)));
            format!("id,{}\n{}", columns.join(","), lines.collect::<String>())
        };
        let folder = tempfile::tempdir().unwrap();
        let path = camino::Utf8Path::from_path(folder.path()).unwrap().join("answer.csv");
        let columns = case.prediction.answer_columns();
        fs_err::write(&path, table(&columns, &case.cells(&case.truth))).unwrap();
        let answers = read_answers(&path, "id", &case.prediction).unwrap();
        let ids: Vec<String> = (0..case.truth.len()).rev().map(|row| format!("r{row}")).collect();

        let mut file = table(&case.prediction.columns(), &case.cells(&case.predicted)).into_bytes();
        for (place, word, removed) in changes {
            let at = place % (file.len() + 1);
            let end = (at + removed).min(file.len());
            match WORDS.get(word) {
                Some(word) => drop(file.splice(at..end, word.bytes())),
                None if word == WORDS.len() => drop(file.drain(at..end)),
                None => file.splice(at..at, [0xff]).for_each(drop),
            }
        }
        let expected = reference::parse(&file, &ids, &case.prediction);
        let read = Submission::parse(&file, &answers, &case.prediction);
        prop_assert_eq!(read.is_ok(), expected.is_some(), "{:?}: {:?}", String::from_utf8_lossy(&file), read);
        if let (Ok(read), Some(expected)) = (read, expected) {
            // The values are the same if all metrics are; the truth stands in the file's order.
            let order: Vec<usize> = (0..ids.len()).rev().collect();
            for metric in Metric::ALL {
                let plain = values::score(metric, &case.truth.take(&order), &expected);
                prop_assert_eq!(read.clone().score(&answers, metric, Part::All), plain);
            }
        }
    }
}

#[test]
fn first_invalid_row_is_the_one_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = camino::Utf8Path::from_path(folder.path()).unwrap().join("answer.csv");
    fs_err::write(&path, "id,y\na,1\nb,2\nc,3\n").unwrap();
    let prediction = tasks::prediction::Prediction::Number { column: "y".to_owned() };
    let answers = read_answers(&path, "id", &prediction).unwrap();
    let faults = ["a,x", "a,1,2", "q,1", "b,1", "b,\u{1b}[2J\u{202e}x"];
    for (index, first) in faults.iter().enumerate() {
        let told = |rest: &[&str]| {
            let file = format!("id,y\nb,1\n{first}\n{}", rest.join("\n"));
            Submission::parse(file.as_bytes(), &answers, &prediction).unwrap_err().to_string()
        };
        let alone = told(&[]);
        assert!(alone.starts_with("line 3"), "{alone}");
        assert_eq!(told(&faults), alone);
        assert_eq!(told(&faults[index..]), alone);
    }
}
