//! A published model by its name, from the files that a download leaves: all of them, but narrow and
//! untrained.

use crate::corpus;
use crate::killed::command;
use crate::loops::checkpoints;
use crate::transformers::{reference, run_script};
use camino::Utf8Path;
use fs_err as fs;
use rl::model::{Qwen3Config, Weights};
use tch::Kind;

#[test]
fn published_model_is_trained_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (tasks, hub) = (dir.join("tasks"), dir.join("hub"));
    corpus::write(&tasks);
    run_script("published.py", &[hub.as_str()]);
    let repository = hub.join("models--Qwen--Qwen3-8B");
    let revision = fs::read_to_string(repository.join("refs/main")).unwrap();
    let snapshot = repository.join("snapshots").join(revision);
    assert!(snapshot.join("model.safetensors.index.json").is_file(), "it comes in shards");

    let run = |arguments: &[&str], out: &Utf8Path| {
        let named = ["--model", "qwen3-8b", "--tasks", tasks.as_str()];
        let mut command = command(&[arguments, &named].concat(), out);
        let status = command.env("HF_HUB_CACHE", &hub).status().unwrap();
        let log = fs::read_to_string(out.with_extension("log")).unwrap();
        assert!(status.success(), "{log}");
        log
    };
    let sft = dir.join("sft");
    corpus::demonstrate(&tasks, &sft, "<answer>submission</answer>");
    run(&["sft", "--attempts", "1", "--epochs", "1", "--set", "batch=4"], &sft);
    let train = dir.join("train");
    let short = ["--set", "validate_every=0", "--set", "rollout.turn_tokens=16"];
    let sizes = ["train", "--steps", "1", "--tasks-per-step", "2", "--group-size", "2"];
    let log = run(&[&sizes[..], &short].concat(), &train);
    assert!(log.contains("memory settings"), "{log}");

    let metrics = fs::read_to_string(train.join("metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 1, "{metrics}");
    let config = Qwen3Config::open(&snapshot).unwrap();
    let norm = |folder: &Utf8Path| {
        let weights = Weights::open(folder).unwrap();
        let gains = weights.tensor("model.norm.weight", &[config.hidden_size]).unwrap();
        gains.to_kind(Kind::Float)
    };
    for (folder, is_trained) in [(&sft, true), (&train, false)] {
        let last = checkpoints(folder).pop().unwrap();
        assert_eq!(Qwen3Config::open(&last).unwrap(), config);
        let tokenizer = |folder: &Utf8Path| fs::read(folder.join("tokenizer.json")).unwrap();
        assert_eq!(tokenizer(&last), tokenizer(&snapshot));
        // Random weights write no turn that earns anything, so GRPO has nothing to learn from.
        assert_eq!(norm(&last) != norm(&snapshot), is_trained, "{last}");
        // Transformers loads what was saved, with no tensor missing and none left over.
        reference(&["logits", last.as_str()]);
    }
}
