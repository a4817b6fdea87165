//! `agents guide verdicts` and `agents guide export`: from guided runs to samples.

use agents::guide::event::{TurnPart, TurnVerdict, Verdict};
use agents::guide::export::{SampleContext, read_samples};
use agents::guide::people::Person;
use agents::guide::store::Store;
use agents::guide::transcript::Transcript;
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use std::process::{Command, Output};
use support::provider::{FakeProvider, Piece, USAGE, hello, openai_events, stream};
use support::shifts;

pub(crate) fn agents(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_agents")).args(args).output().unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A guided run of three turns, the second of which a person drops.
fn judged_run(folder: &Utf8Path) -> (Utf8PathBuf, String) {
    let task = shifts::write(folder);
    let (store, out) = (folder.join("store"), folder.join("run"));
    let model = ["--scaffold", "react", "--model", "script:mutator", "--set", "turns=3"];
    let places = ["--task", task.as_str(), "--out", out.as_str(), "--guide", store.as_str()];
    said(&agents(&[&["run"][..], &model, &places].concat()));
    let opened = Store::open(&store).unwrap();
    let id = opened.headlines()[0].id.clone();
    let verdict = TurnVerdict {
        turn: 1,
        part: TurnPart::Turn,
        verdict: Verdict::Drop,
        reason: "It brings nothing.".to_owned(),
    };
    opened.judge(&id, Person { name: "ann", leads: false }, verdict).unwrap();
    (task, id.to_string())
}

#[test]
fn verdicts_are_shown_and_samples_are_the_same_bytes_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (task, id) = judged_run(folder);
    let (store, lines) = (folder.join("store"), folder.join("verdicts.jsonl"));
    let shown = said(&agents(&["guide", "verdicts", &id, "--store", store.as_str()]));
    assert!(shown.contains("turn 1  python: drop\n"), "{shown}");
    assert!(shown.contains("    ann: drop (counts): It brings nothing."), "{shown}");
    let out = ["--out", lines.as_str()];
    let all =
        said(&agents(&[&["guide", "verdicts", "--store", store.as_str()][..], &out].concat()));
    assert!(all.contains("2 of 3 turns kept") && all.contains("dropped by: person 1"), "{all}");
    let written = fs_err::read_to_string(&lines).unwrap();
    let mut verdicts = written.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let by_ann = verdicts.find(|verdict| verdict["by"]["person"] == "ann").unwrap();
    assert_eq!((&by_ann["turn"], &by_ann["verdict"]), (&1.into(), &"drop".into()));
    assert_eq!(by_ann["trajectory"]["task"], "night-shifts");

    let runs = folder.join("run");
    let excise = ["--context", "excise", "--tasks", task.as_str(), "--runs", runs.as_str()];
    let outs = ["one", "two"].map(|name| folder.join(name));
    for out in &outs {
        let export = ["guide", "export", "--store", store.as_str(), "--out", out.as_str()];
        let told = said(&agents(&[&export[..], &excise].concat()));
        assert!(told.contains("excised and confirmed 1") && told.contains("cut: 1"), "{told}");
    }
    for file in ["samples.jsonl", "verdicts.jsonl", "manifest.json"] {
        let [one, two] = outs.each_ref().map(|out| fs_err::read(out.join(file)).unwrap());
        assert_eq!(one, two, "{file}");
    }
    let samples = read_samples(&outs[0]).unwrap();
    assert_eq!((samples[0].context, samples[0].trained.len()), (SampleContext::Excise, 2));
    let text = fs_err::read_to_string(outs[0].join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let hash = blake3::hash(&fs_err::read(outs[0].join("samples.jsonl")).unwrap());
    assert_eq!(manifest["samples_hash"], hash.to_hex().as_str());
}

#[test]
fn excise_without_runs_is_wrong_usage_and_unguided_runs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (task, _) = judged_run(folder);
    let (store, out) = (folder.join("store"), folder.join("out"));
    let export = ["guide", "export", "--store", store.as_str(), "--out", out.as_str()];
    let excise = ["--context", "excise", "--tasks", task.as_str()];
    let wrong = agents(&[&export[..], &excise].concat());
    assert_eq!(wrong.status.code(), Some(2), "{}", String::from_utf8_lossy(&wrong.stderr));
    let plain = folder.join("plain");
    let model = ["--scaffold", "react", "--model", "script:sample", "--set", "turns=2"];
    let places = ["--task", task.as_str(), "--out", plain.as_str()];
    said(&agents(&[&["run"][..], &model, &places].concat()));
    let refused = agents(&[&export[..], &excise, &["--runs", plain.as_str()]].concat());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("no run in `--runs`"), "{text}");
    assert!(!out.exists());
}

#[test]
fn excise_by_rules_plays_the_other_turns_again() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (task, id) = judged_run(folder);
    let (store, out) = (folder.join("store"), folder.join("out"));
    let export = ["guide", "export", "--store", store.as_str(), "--out", out.as_str()];
    let excise = ["--context", "excise", "--tasks", task.as_str(), "--rules"];
    let played = Transcript::read(&store, &id.parse().unwrap()).unwrap().opening.feedback.unwrap();
    let feedback = serde_json::to_string(&played).unwrap();
    let settings = folder.join("settings.toml");
    fs_err::write(&settings, "attempts = 1\n").unwrap();
    let refused = agents(&[&export[..], &excise, &[settings.as_str()]].concat());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && text.contains("has no rules of episodes"), "{text}");
    let rules = format!("attempts = 1\n[rules.episode]\nfeedback = {feedback}\n");
    fs_err::write(&settings, rules).unwrap();
    let told = said(&agents(&[&export[..], &excise, &[settings.as_str()]].concat()));
    assert!(told.contains("excised and confirmed 1"), "{told}");
    assert!(told.contains("cut: 1"), "{told}");
}

#[test]
fn judge_is_asked_once_and_its_verdicts_count_in_an_export() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (_, id) = judged_run(folder);
    // Breaks the form first, then drops turn 0 and keeps the others that it is asked about.
    let provider = FakeProvider::start(|_, request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        if !messages[0]["content"].as_str().unwrap().contains("You judge single turns") {
            return hello();
        }
        let judged = if messages.len() == 2 {
            "Turn 0 is bad.".to_owned()
        } else {
            let question = messages[1]["content"].as_str().unwrap();
            let asked = question.rsplit_once("no others: ").unwrap().1.trim_end_matches('.');
            let turn = |number: &str| serde_json::json!({"keep": number != "0", "why": "So."});
            let turns: serde_json::Map<String, Value> =
                asked.split(", ").map(|number| (number.to_owned(), turn(number))).collect();
            serde_json::json!({ "turns": turns }).to_string()
        };
        vec![Piece::Bytes(stream(&openai_events(&[&judged], USAGE)))]
    });
    let models = folder.join("models.toml");
    let address = provider.address;
    let text = format!(
        "[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\nfree = true\n"
    );
    fs_err::write(&models, text).unwrap();
    let store = folder.join("store");
    let judge = ["guide", "judge", "--store", store.as_str(), "--model", "fake:m-1"];
    let judge = [&judge[..], &["--models", models.as_str()]].concat();
    let told = said(&agents(&judge));
    assert!(told.contains("1 dropped, 0 undecided, with 2 questions"), "{told}");
    let told = said(&agents(&judge));
    assert!(told.contains("with 0 questions"), "{told}");
    let shown = said(&agents(&["guide", "verdicts", &id, "--store", store.as_str()]));
    assert!(shown.contains("judge m-1: drop (counts): So."), "{shown}");
    assert!(shown.contains("ann: drop (counts)"), "a person counts more: {shown}");
    let out = folder.join("out");
    said(&agents(&["guide", "export", "--store", store.as_str(), "--out", out.as_str()]));
    let sample = &read_samples(&out).unwrap()[0];
    let text = serde_json::to_string(&sample.trained).unwrap();
    assert_eq!(text, r#"["nothing","nothing","whole"]"#);
    let script = agents(&["guide", "judge", "--store", store.as_str(), "--model", "script:sample"]);
    let text = String::from_utf8_lossy(&script.stderr);
    assert!(!script.status.success() && text.contains("a judge is a chat model"), "{text}");
}
