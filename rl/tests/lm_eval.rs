//! EleutherAI's lm-evaluation-harness, unchanged, against `rl serve`: a multiple-choice and a
//! generation task on local data, compared with transformers on the same checkpoint.
//!
//! Not part of `make test`, because the harness has an environment of its own:
//! `make test-lm-eval`.
#![expect(clippy::unwrap_used, reason = "tests: a failure should stop the test")]

#[expect(dead_code, reason = "the helpers of the other tests")]
#[path = "suite/server.rs"]
mod server;

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::text::tokenizer::{Pieces, Tokenizer};
use server::{ServeProcess, random_with};
use std::process::Command;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// The interpreter of an environment in the repository.
fn python(environment: &str) -> Utf8PathBuf {
    let path = Utf8Path::new(HERE).parent().unwrap().join(environment).join("bin/python");
    assert!(path.is_file(), "there is no {path}: run `make test-lm-eval`, which makes it");
    path
}

/// A vocabulary that has some of the words of the tasks.
fn tokenizer() -> Tokenizer {
    let texts: Vec<String> = ["choice", "generate"]
        .map(|name| fs::read_to_string(format!("{HERE}/tests/lm_eval/{name}.jsonl")).unwrap())
        .into();
    // Twice, because a pair of tokens is merged if it is seen twice.
    Tokenizer::train(&[texts.clone(), texts].concat(), 500, Pieces::Words).unwrap()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn harness_gets_the_results_of_transformers() {
    let (harness, reference) = (python(".venv-lm-eval"), python(".venv"));
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let model = dir.join("model");
    fs::create_dir(&model).unwrap();
    let model = random_with(&model, &tokenizer());
    let server = ServeProcess::start(&model, &[]);
    let tasks = format!("{HERE}/tests/lm_eval");
    for (number, concurrent) in [(1, 1), (2, 4)] {
        let results = dir.join(format!("results-{number}"));
        let arguments = format!(
            "model=tiny,base_url=http://{}/v1/completions,tokenizer={model},\
             tokenizer_backend=huggingface,num_concurrent={concurrent},max_length=512",
            server.address
        );
        run(Command::new(&harness)
            .args(["-m", "lm_eval", "--model", "local-completions", "--model_args", &arguments])
            .args(["--tasks", "rl_choice,rl_generate", "--include_path", &tasks])
            .args(["--output_path", results.as_str(), "--log_samples"])
            // Where the tasks name their files.
            .current_dir(&tasks)
            .env("HF_HOME", dir.join("cache"))
            .env("HF_HUB_OFFLINE", "1")
            .env("HF_DATASETS_OFFLINE", "1"));
        run(Command::new(&reference)
            .arg("-I")
            .arg(format!("{HERE}/tests/reference/lm_eval_check.py"))
            .args([&model, &results]));
    }
}
