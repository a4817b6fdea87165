//! A published model by its name, from the files that a download leaves: all of them, but narrow and
//! untrained.

use crate::corpus;
use crate::killed::command;
use crate::loops::checkpoints;
use crate::server::ServeProcess;
use crate::transformers::{reference, run_script};
use camino::Utf8Path;
use fs_err as fs;
use rl::model::{Family, Qwen3Config, Weights};
use serde_json::json;
use tch::Kind;

#[test]
fn published_model_is_trained_by_its_name() {
    trained_by_its_name("Qwen3-8B");
}

#[test]
fn published_model_of_qwen2_5_is_trained_by_its_name() {
    trained_by_its_name("Qwen2.5-7B-Instruct");
}

fn trained_by_its_name(repository: &str) {
    let name = repository.to_lowercase();
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (tasks, hub) = (dir.join("tasks"), dir.join("hub"));
    corpus::write(&tasks);
    run_script("published.py", &[hub.as_str(), repository]);
    let repository = hub.join(format!("models--Qwen--{repository}"));
    let revision = fs::read_to_string(repository.join("refs/main")).unwrap();
    let snapshot = repository.join("snapshots").join(revision);
    assert!(snapshot.join("model.safetensors.index.json").is_file(), "it comes in shards");

    let run = |arguments: &[&str], out: &Utf8Path| {
        let named = ["--model", &name, "--tasks", tasks.as_str()];
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

/// Adapters on a base model, whose `config.json` names the end of a text alone, merged with others and
/// served.
#[test]
fn adapters_on_a_base_model_of_qwen2_5_are_merged_and_served() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    run_script("published.py", &[dir.join("hub").as_str(), "Qwen2.5-7B"]);
    let data = dir.join("data.jsonl");
    let line = r#"{"prompt": "Say yes.", "completion": "yes"}"#;
    fs::write(&data, format!("{line}\n{line}\n")).unwrap();
    let runs = ["1", "2"].map(|seed| {
        let out = dir.join(format!("sft-{seed}"));
        let flags = ["sft", "--model", "qwen2.5-7b", "--data", data.as_str(), "--epochs", "1"];
        let adapters = ["--seed", seed, "--set", "lora.rank=2", "--set", "learning_rate=1e-2"];
        let mut command = command(&[&flags[..], &adapters].concat(), &out);
        let status = command.env("HF_HUB_CACHE", dir.join("hub")).status().unwrap();
        assert!(status.success(), "{}", fs::read_to_string(out.with_extension("log")).unwrap());
        out
    });
    let merged = dir.join("merged");
    let models = ["--model", runs[0].as_str(), "--model", runs[1].as_str()];
    let mut rl = std::process::Command::new(env!("CARGO_BIN_EXE_rl"));
    let output = rl.arg("merge").args(models).args(["--out", merged.as_str()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // Transformers takes it, biases included, and it stops where a turn ends.
    reference(&["logits", merged.as_str()]);
    let config = Qwen3Config::open(&merged).unwrap();
    assert_eq!(
        (config.family, &config.eos_token_ids[..]),
        (Family::Qwen2, &[151_645, 151_643][..])
    );
    let bias = Weights::open(&merged).unwrap();
    let bias = bias.tensor("model.layers.3.self_attn.k_proj.bias", &[32]).unwrap();
    assert!(bias.abs().max().double_value(&[]) > 0.01);

    let server = ServeProcess::start(&merged, &[]);
    let asked = json!({"messages": [{"role": "user", "content": "x"}], "max_tokens": 2});
    assert!(
        server.good("chat/completions", &asked)["usage"]["completion_tokens"].as_u64() > Some(0)
    );
}
