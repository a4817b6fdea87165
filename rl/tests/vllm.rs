//! vLLM, unchanged, samples for `rl train`: whole models and adapters.
//!
//! Not part of `make test`, because vLLM has an environment of its own: `make test-vllm`. It is
//! the community's build for CPUs, which reloads weights wrongly where the output layer is the
//! embedding; the policy here therefore has an output layer of its own.
#![expect(clippy::unwrap_used, reason = "tests: a failure should stop the test")]

#[expect(dead_code, reason = "the helpers of the other tests")]
#[path = "suite/corpus.rs"]
mod corpus;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde_json::Value;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Gives the model of a folder an output layer of its own, with the same weights.
const UNTIE: &str = r#"
import json, sys
from safetensors.torch import load_file, save_file
folder = sys.argv[1]
weights = load_file(f"{folder}/model.safetensors")
weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()
save_file(weights, f"{folder}/model.safetensors", metadata={"format": "pt"})
config = json.load(open(f"{folder}/config.json"))
config["tie_word_embeddings"] = False
json.dump(config, open(f"{folder}/config.json", "w"))
"#;

/// An interpreter of an environment in the repository.
fn python(environment: &str) -> Utf8PathBuf {
    let path = Utf8Path::new(HERE).parent().unwrap().join(environment).join("bin/python");
    assert!(path.is_file(), "there is no {path}: run `make test-vllm`, which makes it");
    path
}

/// Runs `rl`, and returns what it prints.
fn rl(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_rl")).args(arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "rl {arguments:?} failed:\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// vLLM's server, killed with its workers at the end.
struct Vllm {
    child: Child,
    url: String,
}

impl Vllm {
    fn start(model: &Utf8Path, log: &Utf8Path) -> Self {
        let port =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let file = fs::File::create(log).unwrap();
        let child = Command::new("setsid")
            .arg("--wait")
            .arg(python(".venv-vllm"))
            .args(["-m", "vllm.entrypoints.openai.api_server", "--model", model.as_str()])
            .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--dtype", "float32"])
            .args(["--max-model-len", "1536", "--logprobs-mode", "processed_logprobs"])
            .args(["--enforce-eager", "--enable-lora", "--max-lora-rank", "8"])
            .env("VLLM_SERVER_DEV_MODE", "1")
            .env("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "1")
            .env("VLLM_CPU_KVCACHE_SPACE", "1")
            .env("HF_HUB_OFFLINE", "1")
            .stdout(Stdio::from(file.try_clone().unwrap().into_file()))
            .stderr(Stdio::from(file.into_file()))
            .spawn()
            .unwrap();
        let server = Self { child, url: format!("http://127.0.0.1:{port}") };
        let (began, address) = (Instant::now(), (Ipv4Addr::LOCALHOST, port));
        while std::net::TcpStream::connect(address).is_err() {
            let shown = || fs::read_to_string(log).unwrap();
            assert!(began.elapsed() < Duration::from_mins(10), "vLLM does not start:\n{}", shown());
            std::thread::sleep(Duration::from_secs(1));
        }
        server
    }
}

impl Drop for Vllm {
    fn drop(&mut self) {
        // It starts processes of its own, all of one session.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("pkill").args(["--session", &self.child.id().to_string()]).status();
        let _ = Command::new("kill").args(["-TERM", "--", &group]).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn vllm_samples_whole_models_and_adapters() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let (tasks, sft) = (dir.join("tasks"), dir.join("sft"));
    corpus::write(&tasks);
    let imitation = ["--attempts", "1", "--epochs", "40"];
    let sizes = ["--set", "vocab_size=500", "--set", "batch=4"];
    let sft_flags = ["sft", "--tasks", tasks.as_str(), "--out", sft.as_str()];
    let checkpoint = rl(&[&sft_flags[..], &imitation, &sizes].concat());
    let model = Utf8PathBuf::from(checkpoint.trim());
    let untied = Command::new(python(".venv")).args(["-c", UNTIE, model.as_str()]).status();
    assert!(untied.unwrap().success());

    let server = Vllm::start(&model, &dir.join("vllm.log"));
    let weights = dir.join("weights");
    let engine = ["--engine", "vllm", "--servers", &server.url];
    let check = ["check-engine", "--model", model.as_str(), "--weights", weights.as_str()];
    println!("{}", rl(&[&check[..], &engine].concat()));
    let hot = ["--temperature", "0.7"];
    println!("{}", rl(&[&check[..], &engine, &hot].concat()));

    // Adapters first: they are on the model that the server was started with.
    let adapters = ["--set", "lora={rank=8, alpha=16}"];
    for (name, settings) in [("adapters", &adapters[..]), ("whole", &[])] {
        let out = dir.join(name);
        let train = ["train", "--model", model.as_str(), "--tasks", tasks.as_str()];
        let sizes = ["--steps", "3", "--tasks-per-step", "2", "--group-size", "4"];
        let more = ["--out", out.as_str(), "--set", "validate_every=3"];
        rl(&[&train[..], &sizes, &more, &engine, settings].concat());
        let text = fs::read_to_string(out.join("metrics.jsonl")).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 4, "{text}");
        for line in &lines[1..] {
            assert_eq!((&line["episodes"], &line["faults"]), (&8.into(), &0.into()), "{line}");
            let gap = line["log_prob_gap"].as_f64().unwrap();
            println!("{name} step {}: reward {} gap {gap:.1e}", line["step"], line["reward"]);
            assert!(gap < 1e-4, "{line}");
        }
        assert!(lines.iter().any(|line| line["trained_tokens"].as_u64() > Some(0)), "{text}");
    }
}
