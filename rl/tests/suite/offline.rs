//! Training on the user's files: examples that are held out, limits, estimates, pairs.

use crate::killed::command;
use crate::loops::{HiddenProgress, checkpoints, curve, finished, roll_back};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::checkpoint::source::{BuiltIn, PolicySource};
use rl::model::{InitialAttention, Weights};
use rl::run::settings::Validate as _;
use rl::run::stop::Stop;
use rl::train::prefer::{self, PreferError, PreferSettings};
use rl::train::presets::Scale;
use rl::train::sft::{self, SftSettings};
use serde_json::{Value, json};
use std::process::Command;
use tch::Device;

/// Questions whose answer follows from them, and one that is too long.
fn examples(dir: &Utf8Path) -> Utf8PathBuf {
    let record = |i: usize| json!({"instruction": "Repeat.", "input": format!("{} {}", i % 10, i / 10), "output": format!("{} {}", i % 10, i / 10)});
    let mut all: Vec<Value> = (0..40).map(record).collect();
    all.push(json!({"instruction": "7 ".repeat(500), "output": "7"}));
    let path = dir.join("data.json");
    fs::write(&path, serde_json::to_vec(&all).unwrap()).unwrap();
    path
}

fn settings(data: Utf8PathBuf) -> SftSettings {
    SftSettings {
        model: "tiny".into(),
        data: vec![data],
        epochs: 4,
        batch: 5,
        vocab_size: 320,
        context: 200,
        warmup: 2,
        validation_share: 0.2,
        validate_every: 4,
        checkpoint_every: 3,
        keep: 100,
        ..SftSettings::defaults(Scale::Tiny)
    }
}

fn imitate(settings: &SftSettings, out: &Utf8Path) -> Utf8PathBuf {
    fs::create_dir_all(out).unwrap();
    let settings = settings.clone().check().unwrap();
    let source = PolicySource::BuiltIn(BuiltIn::Tiny);
    let ended =
        sft::run(&settings, &source, out, Device::Cpu, &HiddenProgress, &Stop::default()).unwrap();
    finished(ended)
}

/// Steps at which the loss on held-out examples was measured, and that loss.
fn validations(out: &Utf8Path) -> Vec<(u64, f64)> {
    let of = |line: &Value| Some((line["step"].as_u64()?, line["eval_loss"].as_f64()?));
    curve(out).iter().filter_map(of).collect()
}

fn weights(folder: &Utf8Path) -> Vec<u8> {
    fs::read(folder.join("model.safetensors")).unwrap()
}

#[test]
fn held_out_examples_decide_which_checkpoint_is_kept_and_resumed_runs_are_equal() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let settings = settings(examples(dir));
    let out = dir.join("run");
    let last = imitate(&settings, &out);

    // 41 examples, 8 of them held out, one too long: 32 or 33 in batches of 5, four times.
    let lines = curve(&out);
    let steps = lines.last().unwrap()["step"].as_u64().unwrap();
    assert_eq!(steps, 28);
    assert_eq!(lines.len(), 29, "and one for the validation before the first update");
    assert!(lines[0]["loss"].is_null() && lines[0]["eval_loss"].is_number(), "{}", lines[0]);
    let found = validations(&out);
    let at: Vec<u64> = found.iter().map(|(step, _)| *step).collect();
    assert_eq!(at, [0, 4, 8, 12, 16, 20, 24, 28]);
    assert!(found[7].1 < 0.7 * found[0].1, "nothing was learnt: {found:?}");
    let best = found.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    let link = out.join("checkpoints/best").canonicalize_utf8().unwrap();
    assert_eq!(link.file_name().unwrap(), format!("step-{best:06}"));
    let left_out: Value =
        serde_json::from_slice(&fs::read(out.join("left_out.json")).unwrap()).unwrap();
    assert_eq!(left_out["left_out"][0]["example"], "data.json item 41");
    assert!(left_out["left_out"][0]["tokens"].as_u64().unwrap() > 500);

    // A run that goes on from its fourth checkpoint leaves what this one left.
    let again = dir.join("again");
    imitate(&settings, &again);
    roll_back(&again, 4);
    assert_eq!(weights(&imitate(&settings, &again)), weights(&last));
    assert_eq!(curve(&again), lines);
}

#[test]
fn runs_end_early_without_gain_and_at_their_limits() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let data = examples(dir);
    let diverging = SftSettings {
        learning_rate: 0.1,
        early_stopping_patience: 2,
        validate_every: 2,
        ..settings(data.clone())
    };
    imitate(&diverging, &dir.join("diverging"));
    let found = validations(&dir.join("diverging"));
    let best = found.iter().position(|it| found.iter().all(|other| other.1 >= it.1)).unwrap();
    assert_eq!(found.len(), best + 3, "two without gain: {found:?}");
    assert!(found.last().unwrap().0 < 28);

    let limited =
        SftSettings { max_samples: 12, max_steps: 3, validation_share: 0.0, ..settings(data) };
    imitate(&limited, &dir.join("limited"));
    let lines = curve(&dir.join("limited"));
    let epochs: Vec<u64> = lines.iter().map(|line| line["epoch"].as_u64().unwrap()).collect();
    assert_eq!(epochs, [0, 0, 0], "three batches of twelve examples");
    assert!(lines.iter().all(|line| line["eval_loss"].is_null()));
}

#[test]
fn attention_begins_as_it_is_set_and_in_new_policies_alone() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let plain = SftSettings { max_steps: 1, validation_share: 0.0, ..settings(examples(dir)) };
    let equal = SftSettings { initial_attention: InitialAttention::Induction, ..plain.clone() };
    for (settings, name) in [(&plain, "plain"), (&equal, "equal")] {
        imitate(settings, &dir.join(name));
    }
    let losses = ["plain", "equal"].map(|name| curve(&dir.join(name))[0]["loss"].clone());
    assert!(losses[0].is_number() && losses[1].is_number() && losses[0] != losses[1], "{losses:?}");
    let trained = SftSettings { model: dir.join("plain").into_string(), ..equal };
    let refused = trained.check().unwrap_err().to_string();
    assert!(refused.contains("`initial_attention`") && refused.contains("tiny"), "{refused}");
}

#[test]
fn dry_run_says_what_a_run_takes_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let data = examples(dir);
    let out = dir.join("run");
    let estimate = |more: &[&str]| {
        let flags = ["sft", "--dry-run", "--data", data.as_str(), "--out", out.as_str()];
        let set = ["--set", "context=200", "--set", "batch=5", "--epochs", "4", "--device", "cpu"];
        let output = Command::new(env!("CARGO_BIN_EXE_rl"))
            .args(flags)
            .args(set)
            .args(more)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let found: Value = serde_json::from_str(&estimate(&["--json"])).unwrap();
    assert_eq!((&found["examples"], &found["over_long"]), (&json!(40), &json!(1)));
    assert_eq!(found["updates"], json!(32));
    assert_eq!(found["longest_left_out"][0][0], json!("data.json item 41"));
    let tokens = |name: &str| found["tokens"][name].as_f64().unwrap();
    assert!(tokens("trained") < tokens("total") && tokens("median") <= tokens("longest"));
    assert!((tokens("mean") * 40.0 - tokens("total")).abs() < 1e-6);
    assert!(found["memory_bytes"].as_u64().unwrap() > 4_000_000, "a million weights in f32");
    assert!(found["seconds"].as_f64().unwrap() > 0.0);
    let text = estimate(&["--validation-share", "0.25"]);
    // The one that is too long may be one of the ten.
    let held = [" 10 held out", " 9 held out"].iter().any(|held| text.contains(held));
    assert!(held && text.contains("data.json item 41"), "{text}");
    assert!(!out.exists(), "a dry run leaves nothing");
}

#[test]
fn dry_run_without_data_is_refused() {
    for others in ["--world", "--tasks"] {
        let output = Command::new(env!("CARGO_BIN_EXE_rl"))
            .args(["sft", "--dry-run", others, "nowhere", "--out", "nowhere/run"])
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("`--dry-run`") && error.contains("`--data`"), "{error}");
    }
}

/// Pairs that prefer the answer `1 1` to `2 2`, whatever is asked.
fn pairs(dir: &Utf8Path) -> Utf8PathBuf {
    let path = dir.join("pairs.jsonl");
    let pair = |i: usize| {
        json!({"prompt": format!("{} {}", i % 10, i / 10), "chosen": "1 1", "rejected": "2 2"})
            .to_string()
    };
    let lines: Vec<String> = (0..30).map(pair).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

#[test]
fn preferred_answers_become_likelier_and_resumed_runs_are_equal() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let start = imitate(
        &SftSettings { validation_share: 0.0, epochs: 2, ..settings(examples(dir)) },
        &dir.join("sft"),
    );
    let settings = PreferSettings {
        model: start.to_string(),
        data: vec![pairs(dir)],
        batch: 6,
        epochs: 4,
        learning_rate: 1e-3,
        warmup: 1,
        validation_share: 0.2,
        validate_every: 4,
        checkpoint_every: 3,
        keep: 100,
        ..PreferSettings::defaults(Scale::Tiny)
    };
    let settings = settings.check().unwrap();
    let source = PolicySource::Folder(start.clone());
    let prefer = |out: &Utf8Path| {
        fs::create_dir_all(out).unwrap();
        let (cpu, stop) = (Device::Cpu, Stop::default());
        prefer::run(&settings, &source, out, cpu, &HiddenProgress, &stop)
    };
    let out = dir.join("dpo");
    let last = finished(prefer(&out).unwrap());
    let lines = curve(&out);
    assert_eq!(lines.len(), 17, "24 pairs in batches of 6, four times, and the first validation");
    // The policy is its own reference at first: no margin, and the loss of a coin.
    let first = &lines[1];
    assert!((first["loss"].as_f64().unwrap() - std::f64::consts::LN_2).abs() < 1e-5, "{first}");
    assert!(first["reward_margin"].as_f64().unwrap().abs() < 1e-5, "{first}");
    let (begin, end) = (&lines[0], lines.last().unwrap());
    assert!((begin["eval_loss"].as_f64().unwrap() - std::f64::consts::LN_2).abs() < 1e-5);
    assert!(end["eval_loss"].as_f64().unwrap() < 0.6, "{end}");
    assert_eq!(end["eval_accuracy"], json!(1.0));
    assert!(end["reward_chosen"].as_f64() > end["reward_rejected"].as_f64(), "{end}");
    let norm = |folder: &Utf8Path| Weights::open(folder).unwrap().names().count();
    assert_eq!(norm(&last), norm(&start));

    let again = dir.join("again");
    finished(prefer(&again).unwrap());
    roll_back(&again, 2);
    assert_eq!(weights(&finished(prefer(&again).unwrap())), weights(&last));
    assert_eq!(curve(&again), lines);

    // Without what it began with, or with other pairs, a run does not go on.
    roll_back(&again, 2);
    fs::write(
        &settings.data[0],
        fs::read_to_string(&settings.data[0]).unwrap().replace("2 2", "2 2 2"),
    )
    .unwrap();
    assert!(matches!(prefer(&again), Err(PreferError::OtherPairs { .. })));
    fs::remove_file(again.join("reference.json")).unwrap();
    assert!(matches!(prefer(&again), Err(PreferError::NoReference(_))));
}

#[test]
fn command_prefers_from_a_run_and_refuses_fresh_weights() {
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let sft = dir.join("sft");
    imitate(&SftSettings { validation_share: 0.0, max_steps: 2, ..settings(examples(dir)) }, &sft);
    fs::write(sft.join("settings.toml"), "model = \"tiny\"\n").unwrap();
    let pairs = pairs(dir);
    let run = |model: &str, out: &Utf8Path, more: &[&str]| {
        let flags = ["prefer", "--model", model, "--data", pairs.as_str(), "--epochs", "1"];
        let status = command(&[&flags[..], more].concat(), out).status().unwrap();
        (status.success(), fs::read_to_string(out.with_extension("log")).unwrap())
    };
    let lora = ["--set", "lora.rank=2", "--beta", "0.3"];
    let (ok, log) = run(sft.as_str(), &dir.join("dpo"), &lora);
    assert!(ok, "{log}");
    let last = checkpoints(&dir.join("dpo")).pop().unwrap();
    assert!(last.join("adapter_model.safetensors").is_file());
    let (ok, log) = run("tiny", &dir.join("none"), &[]);
    assert!(!ok && log.contains("no weights yet"), "{log}");
    let (ok, log) = run(sft.as_str(), &dir.join("bad"), &["--beta", "-1"]);
    assert!(!ok && log.contains("`beta` is -1"), "{log}");
}
