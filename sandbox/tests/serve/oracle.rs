//! A client that wants the answers: it plays a task again and again, and reasons from all that it
//! is told.

use crate::fixture::{PythonClient, SandboxServer, ServedCorpus};
use std::time::Instant;
use tasks::stream::Stream;

const ROWS: usize = 40;
/// Enough to solve for every row, and to see every tier.
const EPISODES: usize = 240;
/// Answers are below it, so each is ten bits.
const TOP: u64 = 1024;

/// As many episodes per mode as this says; 10000 take some ten minutes.
const VARIABLE: &str = "MLE_ORACLE_EPISODES";

/// A mode, and what it promises.
struct Promise {
    flags: &'static [&'static str],
    /// What one episode may say at most: the outcomes of `score` times those of `submit`.
    outcomes: u64,
    /// Whether the answers can be solved for.
    solved: bool,
}

const PROMISES: [Promise; 4] = [
    // A valid submission is valid, and that is all, for this metric has a value everywhere.
    Promise { flags: &["--feedback", "validate"], outcomes: 1, solved: false },
    // Each says one of five tiers, "none" included, or that the metric has no value; `submit` with
    // `--reveal none` only whether it has one, and this metric always has.
    Promise { flags: &["--feedback", "tier"], outcomes: 36, solved: false },
    Promise { flags: &["--feedback", "tier", "--reveal", "none"], outcomes: 6, solved: false },
    Promise { flags: &["--feedback", "full"], outcomes: u64::MAX, solved: true },
];

fn episodes_or(default: usize) -> usize {
    std::env::var(VARIABLE).map_or(default, |count| count.parse().unwrap())
}

/// The hidden answers.
fn answers() -> Vec<u64> {
    let stream = Stream::root(19).child("answers");
    (0..ROWS).map(|row| stream.index(row as u64).seed() % TOP).collect()
}

/// What came of an attack.
struct Loot {
    episodes: u64,
    /// Different things that an episode said.
    said: u64,
    /// Answers that it got right.
    right: usize,
}

/// Has a server of the mode attacked.
#[expect(clippy::print_stdout, reason = "figures for the documentation")]
fn attack(attack: &str, flags: &[&str], episodes: usize) -> Loot {
    let answers = answers();
    let corpus = ServedCorpus::new();
    corpus.add_numbers(&answers, [250.0, 300.0, 350.0, 450.0]);
    let (count, rows) = (episodes.to_string(), ROWS.to_string());
    let server = SandboxServer::start(&corpus, &[flags, &["--episodes-per-task", &count]].concat());
    let started = Instant::now();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/oracle.py");
    let found = PythonClient::program(&[program, &server.address, attack, &count, &rows]).end();
    let claimed = found["answers"].as_object().unwrap().iter();
    let is_right = |(row, answer): &(&String, &serde_json::Value)| {
        let truth = answers[row.parse::<usize>().unwrap()];
        answer.as_u64().is_some_and(|answer| answer.abs_diff(truth) <= 1)
    };
    let right = claimed.filter(is_right).count();
    let number = |name: &str| found[name].as_u64().unwrap();
    let loot = Loot { episodes: number("episodes"), said: number("said"), right };
    println!(
        "{attack} {flags:?}: {} episodes in {:.0?} said {} different things, {right} of {ROWS} \
         answers",
        loot.episodes,
        started.elapsed(),
        loot.said,
    );
    // Whoever owns the server has all of the grades.
    let records = corpus.records();
    assert_eq!(records.len() as u64, loot.episodes);
    for (path, record) in records {
        assert_eq!(record.task.as_str(), "numbers");
        assert!(record.finish.unwrap().grade.unwrap().score > 0.0, "{path}");
    }
    loot
}

#[test]
fn repeated_scoring_reveals_only_what_the_mode_allows() {
    let episodes = episodes_or(EPISODES);
    for Promise { flags, outcomes, solved } in PROMISES {
        let Loot { episodes: played, said, right } = attack("sweep", flags, episodes);
        assert_eq!(played, episodes as u64);
        if solved {
            assert_eq!(right, ROWS, "the attack does not work where it should");
        } else {
            assert_eq!(right, 0, "{flags:?}");
            assert!(said <= outcomes, "{flags:?}: {said} different things were said");
            // What may be said is said, or this would show nothing.
            assert!(said >= outcomes.min(4), "{flags:?}: {said} different things were said");
        }
    }
}

#[test]
fn tier_feedback_reveals_only_its_bits() {
    let episodes = episodes_or(300);
    let tier = attack("bisect", &["--feedback", "tier"], episodes);
    // Ten bits an answer, and 2.6 at most of what was said of the rows that count.
    assert!(tier.right > 0, "the attack does not work where it should");
    assert!(tier.right as f64 * 10.0 <= tier.episodes as f64 * 6f64.log2());
    let none = attack("bisect", &["--feedback", "tier", "--reveal", "none"], episodes);
    assert_eq!(none.right, 0);
}
