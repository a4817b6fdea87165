//! What scripted agents show to those who imitate them, on every kind of task.

use agents::scaffold::react::{EpisodeRules, MleWorld};
use agents::scaffold::runner::{RunnerContext, ScriptedJob, run_episodes};
use agents::scaffold::scripted::{ScriptStyle, ScriptedLevel};
use agents::trajectory::{Source, Trajectory, TurnRecord};
use camino::Utf8Path;
use fs_err as fs;
use jail::exec::SandboxOptions;
use sandbox::env::TaskSuite;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::process::Command;
use tasks::stream::Stream;
use tasks::task::{Opening, Split, Task};

/// Tasks in all, and a mix of cells in which everything is read that can be: what the `At a glance`
/// lists call it is below.
const COUNT: &str = "20";
const SHARES: &str = "image/binary=0.1,image/segmentation=0.05,audio/binary=0.1,graph/binary=0.1,\
    graph/multiclass=0.1,text/regression=0.25,text/matching=0.1,tabular/ranking=0.1,\
    time_series/forecasting=0.1";
const READ: [&str; 9] = [
    "a network and a table",
    "a table",
    "documents",
    "graphs",
    "pairs of texts",
    "pictures",
    "recordings",
    "series",
    "texts",
];

fn read(task: &Task) -> String {
    let page = fs::read_to_string(task.public().path().join("description.md")).unwrap();
    page.lines().find_map(|line| line.strip_prefix("- Data: ")).unwrap().to_owned()
}

/// The columns' names, which a script that fits every task of its kind does not use.
fn columns(task: &Task) -> Vec<String> {
    let table = fs::read_to_string(task.public().path().join("train.csv")).unwrap();
    let header = table.lines().next().unwrap();
    header.split(',').map(|name| format!("\"{name}\"")).collect()
}

#[test]
fn demonstrations_work_on_every_kind_of_task_and_name_no_column() {
    let desk = tempfile::tempdir().unwrap();
    let corpus = Utf8Path::from_path(desk.path()).unwrap().join("corpus");
    let made = Command::new(env!("CARGO_BIN_EXE_factory"))
        .args(["generate", "--count", COUNT, "--val-count", "0", "--shares", SHARES])
        .args(["--out", corpus.as_str()])
        .status()
        .unwrap();
    assert!(made.success());
    let suite = TaskSuite::open(&corpus, &Opening::default(), SandboxOptions::default()).unwrap();
    let tasks = suite.split(Split::Train).unwrap();
    let seen: BTreeSet<String> = tasks.iter().map(|task| read(task)).collect();
    assert!(seen.iter().eq(READ), "{seen:?}");

    let rules = EpisodeRules::default();
    let world = MleWorld { suite: &suite, rules: &rules };
    let (style, stream) = (ScriptStyle::Demonstration, Stream::root(2));
    let stage =
        RunnerContext { world: &world, format: rules.tool_call_format, style, workers: 2, stream };
    // All read alike; what is fitted afterwards is the ladder's, which has tests of its own.
    let job = |task| ScriptedJob { task, approach: ScriptedLevel::Linear.into(), attempt: 0 };
    let jobs: Vec<ScriptedJob<'_>> = tasks.iter().map(|task| job(task)).collect();
    let mut slips = 0;
    run_episodes(&stage, &jobs, &mut |played| {
        let played: Trajectory = played.unwrap();
        let task = tasks.iter().find(|task| *task.id() == played.task).unwrap();
        let failed: Vec<bool> = played.turns.iter().map(TurnRecord::failed).collect();
        let what = format!("{}: {:?}: {:?}", read(task), played.turns, played.segments);
        // A slip is the first turn, and mended by the second.
        assert!(!failed[1..].contains(&true), "{what}");
        slips += usize::from(failed[0]);
        assert!(played.grade().is_some(), "{what}");
        let said = played.segments.iter().filter(|segment| segment.source == Source::Model);
        for name in columns(task) {
            assert!(said.clone().all(|turn| !turn.text.contains(&name)), "{name} in {what}");
        }
        Ok::<(), Infallible>(())
    })
    .unwrap();
    assert!((1..=10).contains(&slips), "{slips} of {COUNT} slipped; one in seven should");
}
