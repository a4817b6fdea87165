//! `rl merge`: what it writes, beside PEFT's arithmetic on the same checkpoints.

use crate::transformers::run_script;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::model::{Qwen3, Qwen3Config, save_whole};
use rl::text::tokenizer::{Pieces, Tokenizer};
use std::process::{Command, Output};
use tasks::stream::Stream;
use tch::{Device, Kind};

/// A folder with three random checkpoints of one shape, and one of another vocabulary.
fn checkpoints() -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::try_from(dir.path().to_owned()).unwrap();
    let text = ["to be or not to be".to_owned(), "that is not it".to_owned()];
    for (seed, name) in (0..).zip(["base", "first", "second", "stranger"]) {
        let other = ["something else, and more of it: something else".to_owned()];
        let text = if name == "stranger" { other.as_slice() } else { text.as_slice() };
        let tokenizer = Tokenizer::train(text, 400, Pieces::Words).unwrap();
        let vocabulary = tokenizer.last_id() + 1;
        let config = Qwen3Config {
            hidden_size: 32,
            intermediate_size: 48,
            num_hidden_layers: 2,
            ..Qwen3Config::tiny(vocabulary, vocabulary - 1, vocabulary - 2)
        };
        let model = Qwen3::random(&config, Kind::Float, Device::Cpu, Stream::root(seed));
        let folder = root.join(name);
        fs::create_dir(&folder).unwrap();
        save_whole(&model, &folder).unwrap();
        tokenizer.save(&folder).unwrap();
    }
    (dir, root)
}

fn merge(root: &Utf8Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rl"));
    command.current_dir(root).arg("merge").args(arguments).output().unwrap()
}

#[test]
fn merged_models_are_those_of_peft_and_open_in_transformers() {
    let (_dir, root) = checkpoints();
    for (method, flags, numbers) in [
        ("linear", [].as_slice(), [].as_slice()),
        (
            "task-arithmetic",
            ["--base", "base", "--weights", "0.7,-0.4"].as_slice(),
            ["0.7", "-0.4"].as_slice(),
        ),
        (
            "ties",
            ["--base", "base", "--weights", "1,0.5", "--density", "0.3"].as_slice(),
            ["1", "0.5", "0.3"].as_slice(),
        ),
    ] {
        let common = ["--model", "first", "--model", "second", "--method", method, "--out", method];
        let output = merge(&root, &[&common, flags].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), method);
        let folders = ["base", "first", "second", method].map(|name| root.join(name));
        let mut asked: Vec<&str> = folders.iter().map(|folder| folder.as_str()).collect();
        asked.push(method);
        asked.extend(numbers);
        run_script("merge_check.py", &asked);
        let record = fs::read_to_string(root.join(method).join("merge.json")).unwrap();
        assert!(record.contains(method) && record.contains("second"), "{record}");
    }
}

#[test]
fn arc_between_two_models_ends_at_both() {
    let (_dir, root) = checkpoints();
    let between = |t: &str| {
        let flags = ["--model", "first", "--model", "second", "--method", "slerp", "--t", t];
        let out = format!("at-{t}");
        let output = merge(&root, &[flags.as_slice(), &["--out", &out]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read(root.join(out).join("model.safetensors")).unwrap()
    };
    let weights = |name: &str| fs::read(root.join(name).join("model.safetensors")).unwrap();
    assert!(between("0") == weights("first") && between("1") == weights("second"));
    assert!(between("0.5") != weights("first"));
}

#[test]
fn what_does_not_fit_together_is_refused_and_leaves_nothing() {
    let (_dir, root) = checkpoints();
    for (flags, said) in [
        (["--model", "first", "--model", "stranger"].as_slice(), "another vocabulary"),
        (["--model", "first"].as_slice(), "at least two"),
        (
            ["--model", "first", "--model", "second", "--base", "base"].as_slice(),
            "leave `--base` out",
        ),
        (["--model", "first", "--model", "tiny"].as_slice(), "no weights"),
        (["--model", "first", "--model", "nowhere"].as_slice(), "nowhere"),
        (
            ["--model", "first", "--model", "second", "--method", "ties"].as_slice(),
            "give it as `--base`",
        ),
    ] {
        let output = merge(&root, &[flags, &["--out", "merged"]].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.contains(said), "{text}");
        assert!(!root.join("merged").exists());
    }
    let output = merge(&root, &["--model", "first", "--model", "second", "--out", "base"]);
    assert!(String::from_utf8(output.stderr).unwrap().contains("is there already"));
    assert_eq!(fs::read_dir(&root).unwrap().count(), 4, "nothing is left behind");
}
