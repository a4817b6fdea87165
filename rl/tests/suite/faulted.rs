//! A corpus in which some tasks cannot be graded: training goes on with the others and says what
//! broke; where nothing is left to learn from, it ends with a clear error.

use crate::corpus;
use crate::killed::{command, finish};
use crate::loops::curve;
use camino::Utf8Path;
use fs_err as fs;

/// Takes the answers of a task away. The corpus made by hand keeps no hashes, so that nobody
/// notices before the first grade.
fn lose_answers(tasks: &Utf8Path, id: &str) {
    fs::remove_file(tasks.join(id).join("prepared/private/answer.csv")).unwrap();
}

/// What a command that is meant to fail says last.
fn complaint(arguments: &[&str], out: &Utf8Path) -> String {
    assert_eq!(command(arguments, out).status().unwrap().code(), Some(1));
    let log = fs::read_to_string(out.with_extension("log")).unwrap();
    log.lines().last().unwrap().to_owned()
}

#[test]
fn faulted_tasks_are_dropped_and_counted_and_the_rest_trains() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);
    let sft = ["sft", "--tasks", tasks.as_str(), "--attempts", "1", "--epochs", "20"];
    let sizes = ["--set", "batch=4", "--set", "vocab_size=500"];
    let sft = [&sft[..], &sizes].concat();
    let policy = dir.join("sft");
    finish(&sft, &policy);

    // Training: every step plays both tasks, and one of them breaks.
    lose_answers(&tasks, "two");
    let train = ["train", "--model", policy.as_str(), "--tasks", tasks.as_str(), "--steps", "3"];
    let sizes = ["--tasks-per-step", "2", "--group-size", "2", "--set", "rollout.turn_tokens=160"];
    let train = [&train[..], &sizes, &["--set", "validate_attempts=1"]].concat();
    let run = dir.join("train");
    finish(&train, &run);
    let lines = curve(&run);
    assert_eq!(lines.len(), 4, "the validation before, and three steps");
    for line in &lines[1..] {
        let count = |name: &str| line[name].as_u64().unwrap();
        assert_eq!((count("played"), count("dropped"), count("faults")), (4, 2, 2), "{line}");
        assert_eq!(
            count("trained") + count("zero_advantage"),
            2,
            "nothing runs out of time or turns here: {line}"
        );
    }
    let log = fs::read_to_string(run.with_extension("log")).unwrap();
    assert!(log.contains("an episode broke and is dropped") && log.contains("task=two"), "{log}");
    assert!(log.contains("answer.csv"), "and says why: {log}");

    // Demonstrations: half of them break, which is no accident.
    let error = complaint(&sft, &dir.join("sft-again"));
    assert!(error.contains("4 of 8 demonstrations broke"), "{error}");
    assert!(error.contains("answer.csv"), "{error}");

    // Nothing to compare on, or to validate on, or to train on.
    lose_answers(&tasks, "three");
    let named = format!("policy={policy}");
    let eval = ["eval", "--tasks", tasks.as_str(), "--policy", &named, "--set", "attempts=1"];
    let error = complaint(&eval, &dir.join("eval"));
    assert!(
        error.contains("every episode of `policy` broke") && error.contains("answer.csv"),
        "{error}"
    );
    let error = complaint(&train, &dir.join("blind"));
    assert!(error.contains("every held-out episode broke after step 0"), "{error}");
    lose_answers(&tasks, "one");
    let never = [&train[..], &["--set", "validate_every=0"]].concat();
    let error = complaint(&never, &dir.join("nothing"));
    assert!(error.contains("every episode of step 1 broke"), "{error}");
    assert!(error.contains("answer.csv"), "{error}");
}
