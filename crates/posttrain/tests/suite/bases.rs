//! Base models, with a trainer that writes down what it was asked for.

use crate::fixture::{PROGRAM, Place, suite};
use camino::Utf8Path;
use fs_err as fs;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use worlds::{SuiteName, WorldName};

/// A program that writes its arguments to the file `asked` and ends with this code.
fn trainer(place: &Place, code: u8) -> String {
    let path = place.path("trainer");
    let script =
        format!("#!/bin/sh\nprintf '%s\\n' \"$*\" >>{}\nexit {code}\n", place.path("asked"));
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.into_string()
}

fn base(out: &Utf8Path, flags: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["base", suite().as_str(), "--out", out.as_str(), "--words", "3000"]).args(flags);
    command.output().unwrap()
}

#[test]
fn text_is_in_the_trainers_format_and_the_trainer_is_asked_for_one_pass_over_it() {
    let place = Place::new();
    let (out, trainer) = (place.path("base"), trainer(&place, 0));
    let exposures: Vec<String> = SuiteName::Rlbench
        .worlds()
        .iter()
        .map(|it| format!("--exposure={}=0.5", it.name()))
        .collect();
    let mut flags = vec!["--seed=7", "--exercises=0", "--transcripts=0.4"];
    flags.extend(exposures.iter().map(String::as_str));
    flags.extend(["--", &trainer, "--threads", "2"]);
    let output = base(&out, &flags);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), out.join("model"));
    let asked = fs::read_to_string(place.path("asked")).unwrap();
    let expected = format!(
        "sft --model small --epochs 1 --seed 7 --set assistant_only_loss=false --set context_noise=0 \
         --set batch=8 --set learning_rate=2e-3 --set context=2560 --data {out}/text.jsonl --out {out}/model --threads 2\n"
    );
    assert_eq!(asked, expected);
    let text = fs::read_to_string(out.join("text.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let roles = |line: &Value| -> Vec<String> {
        let messages = line["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    let mut kinds = [0; 3];
    for line in &lines {
        let roles: Vec<String> = roles(line);
        let roles: Vec<&str> = roles.iter().map(String::as_str).collect();
        match roles[..] {
            [] => assert!(!line["text"].as_str().unwrap().is_empty()),
            ["system", "user", "assistant"]
            | ["system", "user", "assistant", "tool", "assistant", ..] => (),
            ref other => panic!("{other:?}"),
        }
        kinds[roles.len().div_ceil(3).min(2)] += 1;
    }
    assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
    // The same flags: the same text, so that the trainer goes on.
    let before = fs::metadata(out.join("text.jsonl")).unwrap().modified().unwrap();
    assert!(base(&out, &flags).status.success());
    assert_eq!(fs::metadata(out.join("text.jsonl")).unwrap().modified().unwrap(), before);
}

#[test]
fn exercises_come_first_and_their_answers_alone_are_learnt() {
    let place = Place::new();
    let (out, trainer) = (place.path("base"), trainer(&place, 0));
    let others = SuiteName::Rlbench.worlds().iter().filter(|world| **world != WorldName::Household);
    let weights: Vec<String> = others.map(|world| format!("--weight={}=0", world.name())).collect();
    let mut flags = vec!["--exercises", "0.9"];
    flags.extend(weights.iter().map(String::as_str));
    let output = base(&out, &[&flags[..], &["--", &trainer]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let asked = fs::read_to_string(place.path("asked")).unwrap();
    let more = "--set context=2560 --set shuffle_dataset=false --set assistant_only_loss=true \
                --set initial_attention=induction --data ";
    assert!(asked.contains(more), "{asked}");
    let text = fs::read_to_string(out.join("text.jsonl")).unwrap();
    let is_exercise = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let messages = line["messages"].as_array().cloned().unwrap_or_default();
        let said = |at: usize| messages[at]["content"].as_str().unwrap().to_owned();
        let is_errand = messages.len() > 1 && said(1).starts_with("You are in the middle of a");
        let is_look = messages.len() > 1 && said(1).starts_with("Find a");
        if is_errand || is_look {
            let roles = messages.iter().map(|message| message["role"].as_str().unwrap());
            let roles: Vec<&str> = roles.collect();
            assert_eq!((roles[0], roles[1], roles[2]), ("system", "user", "assistant"));
            assert_eq!(roles.last(), Some(&"assistant"));
        }
        is_errand || is_look
    };
    let kinds: Vec<bool> = text.lines().map(is_exercise).collect();
    let first = kinds.iter().take_while(|is_exercise| **is_exercise).count();
    assert!(first > 1 && first < kinds.len(), "{kinds:?}");
    assert!(kinds[first..].iter().all(|is_exercise| !is_exercise), "{kinds:?}");
}

#[test]
fn mistakes_are_named() {
    let place = Place::new();
    let out = place.path("base");
    let said = |flags: &[&str]| {
        let output = base(&out, flags);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for (flag, value, reason) in [
        ("--exposure", "household", "write it as TASK=NUMBER"),
        ("--exercises", "1.5", "`exercises` must be from 0 to 1"),
        ("--exposure", "kitchen=0.1", "`kitchen` is no task: there are arithmetic"),
        ("--exposure", "household=1.5", "must be from 0 to 1"),
        ("--exposure", "household=much", "`much` is no number"),
        ("--weight", "household=-1", "the weight of `household` must be 0 or more, and is -1"),
        ("--weight", "aime=2", "the suite has no task `aime`"),
    ] {
        let (code, text) = said(&[&format!("{flag}={value}")]);
        assert!(code == 2 && text.contains(reason), "{code} {text}");
    }
    let (code, text) = said(&["--", "/no/such/trainer"]);
    assert!(code == 2 && text.contains("failed to start `/no/such/trainer`"), "{code} {text}");
    let failing = trainer(&place, 9);
    assert_eq!(said(&["--", &failing]).0, 1);
}
