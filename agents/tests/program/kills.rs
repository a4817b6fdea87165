//! A run that is killed at any moment goes on to the journal of one that was not.
//!
//! By default a few kills of a short search; `SEARCH_KILLS=20 SEARCH_STEPS=60` is the full test.

use agents::run::journal::{JournalLine, journal_path, read_lines};
use camino::Utf8Path;
use std::collections::BTreeSet;
use std::env::VarError;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::shifts;
use tasks::stream::Stream;

fn number(given: Result<String, VarError>, default: u64) -> u64 {
    given.map_or(default, |text| text.parse().expect("a number"))
}

fn steps() -> u64 {
    number(std::env::var("SEARCH_STEPS"), 8)
}

pub(crate) fn kills() -> u64 {
    number(std::env::var("SEARCH_KILLS"), 2)
}

fn agents(scaffold: &str, task: &Utf8Path, out: &Utf8Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_agents"));
    command
        .args(["run", "--scaffold", scaffold, "--model", "script:mutator"])
        .args(["--task", task.as_str(), "--out", out.as_str()])
        .args(if scaffold == "react" {
            ["--set".to_owned(), format!("turns={}", steps())].to_vec()
        } else {
            ["--set", "search.operators.judge=true", "--set"]
                .map(str::to_owned)
                .into_iter()
                .chain([format!("steps={}", steps())])
                .collect()
        })
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The journal without times and without notes of pauses, by the order of decisions: with several
/// workers, results come in any order.
pub(crate) fn timeless(run: &Utf8Path) -> Vec<String> {
    let lines = read_lines(&journal_path(run)).unwrap();
    let mut kept: Vec<(u32, u8, String)> = Vec::new();
    for mut line in lines {
        let key = match &mut line {
            JournalLine::Paused { .. }
            | JournalLine::Resumed { .. }
            | JournalLine::Guided { .. }
            | JournalLine::Heard { .. } => continue,
            JournalLine::Header(_) => (0, 0),
            JournalLine::Knowledge { clock, .. } => {
                *clock = 0.0;
                (0, 0)
            }
            JournalLine::Decided { clock, node, .. } => {
                *clock = 0.0;
                (node.0, 1)
            }
            JournalLine::Asked(facts) => {
                facts.seconds = 0.0;
                // The time that is left is part of the prompt.
                facts.prompt.0.clear();
                (facts.node.0, 2)
            }
            JournalLine::Node(node) => {
                node.ended_at = 0.0;
                if let Some(run) = &mut node.run {
                    (run.wall, run.processor, run.peak_memory) = (0.0, 0.0, 0);
                }
                (node.id.0, 3)
            }
            JournalLine::Turn(turn) => {
                (turn.ended_at, turn.record.seconds) = (0.0, 0.0);
                (turn.number.0, 3)
            }
            JournalLine::Finish { clock, .. } => {
                *clock = 0.0;
                (u32::MAX, 4)
            }
        };
        kept.push((key.0, key.1, serde_json::to_string(&line).unwrap()));
    }
    kept.sort_by_key(|(node, kind, _)| (*node, *kind));
    kept.into_iter().map(|(.., line)| line).collect()
}

fn killed_search_ends_as_an_undisturbed_one(scaffold: &str) {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let task = shifts::write(folder);
    let (whole, killed) = (folder.join("whole"), folder.join("killed"));
    let started = Instant::now();
    let first = agents(scaffold, &task, &whole).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&first.stderr);
    assert!(first.status.success(), "{scaffold}: {:?}: {said}", first.status);
    let took = started.elapsed();
    let kills = kills();
    let mut draws = Stream::root(7).child(scaffold).rng();
    let mut done = 0;
    while done < kills {
        let mut child = agents(scaffold, &task, &killed).spawn().unwrap();
        // So soon that the last kill finds it at three quarters of its way; that it has to start
        // comes on top.
        let share: f64 = rand::RngExt::random(&mut draws);
        let life = took.mul_f64(1.5 * share / kills as f64);
        std::thread::sleep(life + Duration::from_millis(500));
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        done += 1;
    }
    let last = agents(scaffold, &task, &killed).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&last.stderr);
    assert!(last.status.success(), "{scaffold}, after {done} kills: {:?}: {said}", last.status);
    assert!(done > 0, "it was killed at least once");
    assert_eq!(timeless(&killed), timeless(&whole), "{scaffold}, after {done} kills");
    let mut asked = BTreeSet::new();
    for line in read_lines(&journal_path(&killed)).unwrap() {
        if let JournalLine::Asked(facts) = line {
            assert!(asked.insert((facts.node, facts.what, facts.attempt)), "asked twice");
        }
    }
}

macro_rules! killed {
    ($($name:ident: $scaffold:literal,)*) => {
        $(#[test]
        fn $name() {
            killed_search_ends_as_an_undisturbed_one($scaffold);
        })*
    };
}

killed! {
    killed_aide_ends_as_an_undisturbed_one: "aide",
    killed_aira_greedy_ends_as_an_undisturbed_one: "aira-greedy",
    killed_aira_mcts_ends_as_an_undisturbed_one: "aira-mcts",
    killed_aira_evo_ends_as_an_undisturbed_one: "aira-evo",
    killed_ml_master_ends_as_an_undisturbed_one: "ml-master",
    killed_react_ends_as_an_undisturbed_one: "react",
}
