//! Training and evaluation with episodes on a fleet of environment servers, beside the same on this
//! machine.

use crate::corpus;
use crate::killed::{command, finish};
use crate::loops::curve;
use agents::trajectory::{self, Trajectory};
use camino::Utf8Path;
use fs_err as fs;
use support::servers::ServedTasks;

/// The rules of tiny policies, and what a trainer asks for.
const FLAGS: [[&str; 2]; 9] = [
    ["--turns", "5"],
    ["--episode-limit", "120s"],
    ["--step-limit", "20s"],
    ["--answer-limit", "60s"],
    ["--stdout-head", "150"],
    ["--stdout-tail", "50"],
    ["--stderr-head", "0"],
    ["--stderr-tail", "120"],
    ["--reveal", "score"],
];

/// The episodes of a run, but for what no two runs share.
fn episodes(path: &Utf8Path) -> Vec<Trajectory> {
    let mut episodes = trajectory::read(path).unwrap();
    for turn in episodes.iter_mut().flat_map(|episode| &mut episode.turns) {
        (turn.seconds, turn.cached) = (0.0, false);
    }
    episodes.sort_by_key(|episode| (episode.task.clone(), episode.attempt));
    episodes
}

#[test]
fn training_and_evaluation_on_a_fleet_equal_those_on_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);
    let sft = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "40"];
    let sizes = ["--set", "batch=4", "--set", "vocab_size=500"];
    let policy = dir.join("sft");
    finish(&[&sft[..], &sizes].concat(), &policy);

    let flags = FLAGS.as_flattened();
    let servers = ["one", "two"]
        .map(|name| ServedTasks::start(&tasks, &dir.join(name), "127.0.0.1:0", flags));
    let urls = servers.iter().map(ServedTasks::url).collect::<Vec<_>>().join(",");
    // In lockstep: who shares a batch changes rounding, and this test compares bits.
    let exact = ["--set", "rollout.deterministic=true", "--set", "rollout.turn_tokens=160"];
    let train = ["train", "--model", policy.as_str(), "--tasks", tasks.as_str(), "--steps", "2"];
    let sizes = ["--tasks-per-step", "2", "--group-size", "2", "--set", "validate_attempts=1"];
    let named = format!("policy={policy}");
    let eval = ["eval", "--tasks", tasks.as_str(), "--policy", &named, "--attempts", "2"];
    for (name, arguments, file) in [
        ("train", [&train[..], &sizes, &exact].concat(), "episodes/step-000001.jsonl"),
        ("eval", [&eval[..], &exact].concat(), "episodes/policy.jsonl"),
    ] {
        let (here, there) = (dir.join(name), dir.join(format!("{name}-there")));
        finish(&arguments, &here);
        finish(&[&arguments[..], &["--sandboxes", &urls]].concat(), &there);
        let played = episodes(&here.join(file));
        assert!(played.iter().any(|episode| !episode.turns.is_empty()), "{played:?}");
        assert_eq!(episodes(&there.join(file)), played, "{name}");
        if name == "train" {
            assert_eq!(curve(&there), curve(&here));
        }
        let settings = fs::read_to_string(there.join("settings.toml")).unwrap();
        assert!(settings.contains(&servers[1].url()), "{settings}");
    }
    // Both servers have played: each has records.
    for name in ["one", "two"] {
        assert!(dir.join(name).join("three").is_dir() || dir.join(name).join("one").is_dir());
    }

    // Other rules are refused at the start, with what to change.
    let others = [&eval[..], &["--sandboxes", &urls, "--set", "rules.episode.budget.turns=4"]];
    let out = dir.join("others");
    assert_eq!(command(&others.concat(), &out).status().unwrap().code(), Some(1));
    let log = fs::read_to_string(out.with_extension("log")).unwrap();
    assert!(log.contains("`budget.turns` is 5 there and 4 here"), "{log}");
}
