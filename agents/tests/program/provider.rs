//! A chat model that is served with faults, as the player of a benchmark.

use crate::runs::held_out;
use camino::Utf8Path;
use fs_err as fs;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Mutex;
use support::provider::{FakeProvider, Piece, USAGE, answer, hello, openai_events, stream};

const SAMPLE: &str = "import shutil\nshutil.copy('input/sample_submission.csv', 'submission.csv')";

/// What the model says after `turns` turns that it is shown.
fn says(turns: usize) -> String {
    match turns {
        0 => format!(
            "<think>The sample.</think>\n<tool_call>\npython\n<code>\n{SAMPLE}\n</code>\n</tool_call>"
        ),
        1 => "<think>Check.</think>\n<tool_call>\n{\"name\": \"Score\"}\n</tool_call>".to_owned(),
        2 => "I think that I am done.".to_owned(),
        _ => "<think>Done.</think>\n<answer>submission</answer>".to_owned(),
    }
}

/// A provider whose every second request fails once, each time in another way.
fn faulty() -> FakeProvider {
    let failed: Mutex<BTreeSet<usize>> = Mutex::default();
    FakeProvider::start(move |number, request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        if !messages[0]["content"].as_str().unwrap().contains("competition") {
            return hello();
        }
        let turns = messages.iter().filter(|message| message["role"] == "assistant").count();
        let text = says(turns);
        let whole = stream(&openai_events(&[&text], USAGE));
        if !failed.lock().unwrap().insert(turns) {
            return vec![Piece::Bytes(whole)];
        }
        match turns {
            0 => {
                let headers = [("retry-after", "0.01")];
                let body = r#"{"error":{"code":"rate_limit_exceeded"}}"#;
                vec![Piece::Bytes(answer(429, &headers, body))]
            }
            1 => vec![Piece::Bytes(whole[..whole.len() / 2].to_vec()), Piece::Close],
            2 => vec![Piece::Bytes(answer(503, &[], "<html>busy</html>"))],
            _ if number % 2 == 0 => vec![Piece::Close],
            _ => vec![Piece::Bytes(whole)],
        }
    })
}

fn eval(
    folder: &Utf8Path,
    provider: &FakeProvider,
    extra: &[&str],
) -> (Option<i32>, String, String) {
    let models = folder.join("models.toml");
    let address = provider.address;
    let text = format!(
        "[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\nfree = true\n"
    );
    fs::write(&models, text).unwrap();
    let (data, out) = (folder.join("corpus"), folder.join("eval"));
    let output = Command::new(env!("CARGO_BIN_EXE_agents"))
        .args(["eval", "--bench", "synthetic", "--data", data.as_str(), "--preset", "react"])
        .args(["--model", "fake:m-1", "--models", models.as_str()])
        .args(["--seeds", "1", "--out", out.as_str()])
        .args(extra)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn provider_with_faults_is_asked_again_and_the_run_ends_in_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    held_out(folder);
    let provider = faulty();
    let (code, table, said) = eval(folder, &provider, &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(table.contains("react/m-1"), "{table}");
    let run = folder.join("eval/runs/night-shifts/seed0");
    let graded: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    assert_eq!(graded["steps"], 4, "{graded}");
    // The sample says the same of every row.
    assert_eq!(graded["outcome"]["graded"]["score"], 0.5, "{graded}");
    assert_eq!(graded["tokens"]["written"], 4 * 5, "each answer counts once");
    let trajectory = fs::read_to_string(run.join("trajectory.jsonl")).unwrap();
    assert!(trajectory.contains("valid submission") && trajectory.contains("malformed turn"));
    // The same command asks nothing more, but for the probe.
    let before = provider.count();
    let (code, again, said) = eval(folder, &provider, &[]);
    assert_eq!((code, again), (Some(0), table), "{said}");
    assert!(provider.count() <= before + 1);
}

#[test]
fn provider_that_declines_or_goes_away_pauses_or_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    held_out(folder);
    // A key that is not accepted is no answer: the run waits, and can go on.
    let provider = FakeProvider::start(|_, request| {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        if body["messages"].as_array().unwrap().len() < 3 {
            let first = body["messages"][0]["content"].as_str().unwrap();
            if !first.contains("competition") {
                return hello();
            }
            return vec![Piece::Bytes(stream(&openai_events(&[&says(0)], USAGE)))];
        }
        let body = r#"{"error":{"message":"no such key","code":"invalid_api_key"}}"#;
        vec![Piece::Bytes(answer(401, &[], body))]
    });
    let (code, _, said) = eval(folder, &provider, &[]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("1 runs can go on"), "{said}");
    let (code, table, said) = eval(folder, &faulty(), &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(table.contains("react/m-1"), "{table}");
}
