//! Tasks that come from elsewhere, a prepared competition and a released bundle, through the same
//! commands as our own.

use crate::corpus;
use crate::killed::finish;
use camino::Utf8Path;
use evals::evaluation::Evaluation;
use fs_err as fs;
use support::folders::TemporaryFolder;

#[test]
fn competition_and_bundle_are_played_by_the_same_commands_as_our_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    // A policy that has seen our own tasks only.
    let ours = dir.join("ours");
    corpus::write(&ours);
    let sft = dir.join("sft");
    corpus::demonstrate(&ours, &sft, "<answer>submission</answer>");
    let sizes =
        ["--attempts", "1", "--epochs", "10", "--set", "batch=4", "--set", "vocab_size=320"];
    finish(&[&["sft", "--tasks", ours.as_str()][..], &sizes].concat(), &sft);

    let folder = TemporaryFolder::new();
    folder.competition();
    folder.bundle("yields", 12);
    let tasks = folder.path().as_str();
    let policy = format!("sft={sft}");
    // MLE-bench grades whole files, so an agent can be told validity only.
    let rules = ["--set", "rules.episode.feedback=validate", "--set", "rollout.turn_tokens=60"];

    let eval = dir.join("eval");
    let compared = ["eval", "--tasks", tasks, "--scripted", "--policy", &policy, "--attempts", "1"];
    finish(&[&compared[..], &rules].concat(), &eval);
    let text = fs::read_to_string(eval.join("evaluation.json")).unwrap();
    let evaluation: Evaluation = serde_json::from_str(&text).unwrap();
    assert_eq!((evaluation.tasks, evaluation.rows.len()), (2, 6));
    assert!(evaluation.rows.iter().all(|row| (row.episodes, row.faults) == (2, 0)), "{text}");
    let valid = |agent: &str| evaluation.rows.iter().find(|row| row.agent == agent).unwrap().valid;
    assert_eq!((valid("scripted/constant"), valid("scripted/forest")), (1.0, 1.0));

    let train = dir.join("train");
    let model = sft.as_str();
    let steps = ["--set", "steps=1", "--set", "tasks_per_step=2", "--set", "validate_every=0"];
    let update = ["train", "--tasks", tasks, "--model", model];
    finish(&[&update[..], &steps, &rules].concat(), &train);
    let line = fs::read_to_string(train.join("metrics.jsonl")).unwrap();
    assert_eq!(line.lines().count(), 1, "{line}");
    assert!(train.join("checkpoints/step-000001").is_dir());
    assert_eq!(split_warnings(&train), [""; 0], "no validation, no warning");

    // Neither task states a split, so both are trained on and validated on.
    let validated = dir.join("validated");
    let every_step = ["--set", "validate_every=1", "--set", "validate_attempts=1"];
    finish(&[&update[..], &steps[..4], &every_step, &rules].concat(), &validated);
    let warnings = split_warnings(&validated);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("2 of 2 validation tasks"), "{warnings:?}");
    assert!(warnings[0].contains("`validate_every=0`"), "{warnings:?}");
}

/// The lines of a run's log that warn of validation on tasks that are trained on.
fn split_warnings(out: &Utf8Path) -> Vec<String> {
    let log = fs::read_to_string(out.with_extension("log")).unwrap();
    let is_warning = |line: &&str| line.contains("are also trained on");
    log.lines().filter(is_warning).map(str::to_owned).collect()
}
