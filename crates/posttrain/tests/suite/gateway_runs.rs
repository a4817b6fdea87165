//! Runs whose agents ask chat models: through the gateway in their box, and the agent `react`.

use crate::reports::report;
use crate::running::Runs;
use camino::Utf8PathBuf;
use fs_err as fs;
use serde_json::{Value, json};
use support::provider::{FakeProvider, Piece, SeenRequest, USAGE, openai_events, stream};

/// A key that occurs nowhere else.
const KEY: &str = "tEsT-pRiVaTe-0123456789";

/// A provider of the model `fake:m`, and the flags that name it.
fn provider(
    runs: &Runs,
    script: impl Fn(usize, &SeenRequest) -> String + Send + Sync + 'static,
) -> (FakeProvider, Vec<String>) {
    let provider = FakeProvider::start(move |number, request| {
        vec![Piece::Bytes(stream(&openai_events(&[&script(number, request)], USAGE)))]
    });
    let (models, prices) = (runs.place.path("models.toml"), runs.place.path("prices.toml"));
    let address = provider.address;
    let text = format!(
        "[endpoint.fake]\nprotocol = \"openai\"\nbase_url = \"http://{address}/v1\"\nkey_env = \"FAKE_KEY\"\n"
    );
    fs::write(&models, text).unwrap();
    fs::write(&prices, "[[price]]\nmodel = \"m\"\ninput = \"1\"\noutput = \"10\"\n").unwrap();
    let flags =
        ["--gateway-models", "fake:m", "--models", models.as_str(), "--prices", prices.as_str()];
    (provider, flags.map(str::to_owned).to_vec())
}

/// Runs an agent to its end, with the provider's key in the environment; the result.
fn result(runs: &Runs, agent: &str, flags: &[String], more: &[&str]) -> Value {
    let flags: Vec<&str> = flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let output = runs.command(agent, &flags).env("FAKE_KEY", KEY).output().unwrap();
    assert!(output.status.success(), "{output:?}\n{}", runs.log());
    runs.read("result.json")
}

/// Has the agent of a test ask a model.
fn asks(folder: &Utf8PathBuf, model: &str) {
    let spec = folder.join("agent.toml");
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(spec, format!("model = '{model}'\n{text}")).unwrap();
}

const ASKING: &str = r#"
import json, os, urllib.error, urllib.request
from common import model, submit
assert "FAKE_KEY" not in os.environ
assert os.environ["OPENAI_BASE_URL"] == "http://127.0.0.1:5001/v1"
assert os.environ["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:5001"
assert os.environ["CHAT_MODEL"] == "m" and os.environ["CHAT_PROTOCOL"] == "openai"
assert "CHAT_MODEL" in open("../instructions.md").read()

def ask(tokens):
    body = {"model": os.environ["CHAT_MODEL"], "messages": [{"role": "user", "content": "u"}],
            "max_tokens": tokens, "stream": True}
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()

assert '"content":"hello"' in ask(10)[1]
assert submit(model("step-1", 0.5))[1]["score"] == 0.5
assert ask(10)[0] == 200
assert submit(model("step-2", 0.75))[1]["score"] == 0.75
status, told = ask(100_000)
assert status == 429 and json.loads(told)["error"]["left"] == 20_000 - 28, told
print("asked")
"#;

#[test]
fn agent_that_names_a_model_reaches_it_and_its_tokens_are_reported() {
    let runs = Runs::new();
    let (provider, flags) = provider(&runs, |_, _| "hello".to_owned());
    let agent = runs.python(ASKING, &json!({}));
    asks(&agent, "m");
    let result = result(&runs, agent.as_str(), &flags, &["--gateway-tokens", "20000"]);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    let chat = &result["chat"];
    assert_eq!((&chat["requests"], &chat["refused"]), (&json!(2), &json!(1)));
    assert_eq!(
        (&chat["input"], &chat["output"], &chat["cost_micro"]),
        (&json!(18), &json!(10), &json!(118))
    );
    assert_eq!(provider.count(), 2);

    let report = report(&runs, &[]);
    let run = &report["runs"][0];
    assert_eq!(
        (&run["metrics"]["tokens"], &run["metrics"]["cost"]),
        (&json!(28), &json!(0.000_118))
    );
    let tokens: Vec<&Value> =
        run["iterations"].as_array().unwrap().iter().map(|one| &one["tokens"]).collect();
    assert_eq!(tokens, [14, 28]);
    let page = fs::read_to_string(runs.out().join("report/index.html")).unwrap();
    assert!(page.contains("over tokens") && page.contains("$0.0001"), "{page}");
    let record = fs::read_to_string(runs.out().join("run.toml")).unwrap();
    assert!(record.contains("fake:m") && record.contains("tokens = 20000"), "{record}");
    for file in
        ["run.toml", "agent.log", "result.json", "sealed/gateway.jsonl", "sealed/ledger.jsonl"]
    {
        let text = fs::read_to_string(runs.out().join(file)).unwrap();
        assert!(!text.contains(KEY), "{file}");
    }
    // It is another run with another cap.
    let named: Vec<&str> = flags.iter().map(String::as_str).collect();
    let again = runs.command(agent.as_str(), &named).env("FAKE_KEY", KEY).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8(again.stderr).unwrap().contains("other settings (gateway)"));
}

#[test]
fn agent_that_names_no_model_has_no_door_to_any() {
    let runs = Runs::new();
    let (provider, flags) = provider(&runs, |_, _| "hello".to_owned());
    let script = "import os, socket\n\
                  from common import model, submit\n\
                  assert not [name for name in os.environ if name.startswith(('OPENAI', 'ANTHROPIC', 'CHAT'))]\n\
                  assert socket.socket().connect_ex(('127.0.0.1', 5001)) == 111\n\
                  submit(model('step-1', 0.5))\n";
    let agent = runs.python(script, &json!({}));
    let result = result(&runs, agent.as_str(), &flags, &[]);
    assert_eq!(result["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    assert!(result.get("chat").is_none(), "{result}");
    assert!(!runs.out().join("sealed/gateway.jsonl").exists());
    let run = &report(&runs, &[])["runs"][0];
    assert_eq!((&run["metrics"]["tokens"], &run["metrics"]["cost"]), (&Value::Null, &Value::Null));
    assert_eq!(provider.count(), 0);
}

#[test]
fn models_that_cannot_be_asked_are_named_before_anything_runs() {
    let runs = Runs::new();
    let (_, flags) = provider(&runs, |_, _| String::new());
    let named: Vec<&str> = flags.iter().map(String::as_str).collect();
    let agent = runs.python("print('never')\n", &json!({}));
    asks(&agent, "other");
    let refused = |agent: &str, flags: &[&str], said: &str| {
        let output = runs.command(agent, flags).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains(said), "{said}: {text}");
    };
    refused(agent.as_str(), &named, "asks the chat model `other`");
    refused("react", &[], "--gateway-models");
    refused("react", &["--gateway-tokens", "5"], "--gateway-models");
    refused("react", &["--gateway-models", "nowhere:m"], "no endpoint `nowhere`");
    // Its key is not there.
    refused("react", &named, "FAKE_KEY");
}

/// What a model of the test does, turn by turn.
const STEPS: [&str; 8] = [
    r#"{"thought": "Look around.", "tool": "shell", "arguments": {"command": "date +%N; ls .."}}"#,
    "I shall write a model now.",
    r#"{"thought": "A program.", "tool": "write", "arguments": {"path": "make.py", "content": "import json, os, shutil, struct\nfolder = os.environ['OUTPUT_DIR'] + '/one'\nshutil.copytree(os.environ['MODEL_PATH'], folder)\npath = folder + '/model.safetensors'\ncontent = bytearray(open(path, 'rb').read())\n(length,) = struct.unpack_from('<Q', content)\nbegin, _ = json.loads(content[8 : 8 + length])['model.embed_tokens.weight']['data_offsets']\nstruct.pack_into('<f', content, 8 + length + begin, 0.25)\nos.chmod(path, 0o600)\nopen(path, 'wb').write(content)\n"}}"#,
    r#"{"thought": "A better share.", "tool": "patch", "arguments": {"path": "make.py", "old": "begin, 0.25", "new": "begin, 0.5"}}"#,
    r#"{"thought": "Make it.", "tool": "shell", "arguments": {"command": "python3 make.py"}}"#,
    r#"{"thought": "Is it good?", "tool": "submit", "arguments": {"path": "output/one", "note": "half"}}"#,
    r#"{"thought": "How long?", "tool": "time", "arguments": {}}"#,
    r#"{"thought": "Done.", "tool": "finish", "arguments": {"summary": "Half of the items are won."}}"#,
];

/// The lines of a ledger without what differs from run to run: times, and hashes over times.
fn timeless(events: Vec<Value>) -> Vec<Value> {
    let names =
        ["elapsed_ms", "time", "prev", "hash", "seconds", "origin", "used_ms", "grader", "results"];
    let without = |value: &mut Value| {
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|name, _| !names.contains(&name.as_str()));
        }
    };
    let mut lines = events;
    for line in &mut lines {
        without(line);
        for name in ["request", "scored"] {
            if let Some(inside) = line.get_mut(name) {
                without(inside);
            }
        }
    }
    lines
}

#[test]
fn recorded_react_plays_twice_to_the_same_ledger_but_for_times() {
    let live = Runs::new();
    let (provider, flags) = provider(&live, |number, _| STEPS[number].to_owned());
    let told = result(&live, "react", &flags, &["--record", "--gateway-tokens", "200000"]);
    assert_eq!(told["ended"]["how"], json!({"exited": 0}), "{}", live.log());
    assert_eq!(
        (&told["metrics"]["best"], &told["metrics"]["submissions"]),
        (&json!(0.5), &json!(1))
    );
    assert_eq!(provider.count(), STEPS.len());
    let reports = live.out().join("workspace/reports");
    let text = fs::read_to_string(reports.join("transcript.jsonl")).unwrap();
    let turns: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let observation = |turn: usize| turns[turn - 1]["observation"].as_str().unwrap();
    assert!(observation(1).contains("instructions.md"), "{text}");
    assert!(observation(2).starts_with("error: the answer cannot be read"), "{text}");
    assert!(observation(6).contains("score: 0.5") && observation(7).contains("are left"), "{text}");
    assert_eq!(
        fs::read_to_string(reports.join("summary.md")).unwrap(),
        "Half of the items are won.\n"
    );
    assert!(live.log().contains("end: the model finished"), "{}", live.log());
    let run = &report(&live, &[])["runs"][0];
    assert_eq!(
        (&run["driver_model"], &run["metrics"]["tokens"]),
        (&json!("fake:m"), &json!(14 * STEPS.len()))
    );

    let recording = live.out().join("sealed/recording.jsonl");
    let flags = ["--gateway-models".to_owned(), format!("replay:{recording}")];
    let played: Vec<(Vec<Value>, Value)> = (0..2)
        .map(|_| {
            let runs = Runs::new();
            let result = result(&runs, "react", &flags, &[]);
            assert_eq!(result["metrics"]["best"], 0.5, "{}", runs.log());
            (timeless(runs.events()), result["chat"].clone())
        })
        .collect();
    assert_eq!(played[0], played[1]);
    assert_eq!(played[0].1["input"], json!(9 * STEPS.len()));
    assert_eq!(timeless(live.events()), played[0].0, "as live");
    assert_eq!(provider.count(), STEPS.len(), "nobody was asked");
}

#[test]
fn react_ends_with_its_reason_when_a_cap_is_reached() {
    let runs = Runs::new();
    let (provider, flags) = provider(&runs, |_, _| STEPS[0].to_owned());
    let told = result(&runs, "react", &flags, &["--gateway-tokens", "30000"]);
    assert_eq!(told["ended"]["how"], json!({"exited": 0}), "{}", runs.log());
    assert!(runs.log().contains("this run's cap on tokens is 30000"), "{}", runs.log());
    let chat = &told["chat"];
    let taken = chat["input"].as_u64().unwrap() + chat["output"].as_u64().unwrap();
    assert!(taken <= 30_000 && provider.count() > 1, "{chat}");
}
