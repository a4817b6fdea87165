//! `scripts/log_run.py` sends what `metrics.jsonl` says, also of runs that go on or go back. A module
//! that writes down its calls stands in for the service.

use crate::transformers::python;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::run::metrics::Metrics;
use rl::run::tensorboard::scalars;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The three packages, as far as the script calls them. Every call is a line of
/// `calls.jsonl` beside the file.
const SERVICE: &str = r#"
import json, os, types
def note(*call):
    with open(os.path.join(os.path.dirname(__file__), "calls.jsonl"), "a") as file:
        file.write(json.dumps(call) + "\n")
class Run:
    def __init__(self, name):
        self.name = self.id = name
        self.info = types.SimpleNamespace(run_id=name)
    def log(self, values, step):
        note("log", self.name, step, values)
    def finish(self):
        note("finish", self.name)
def init(project, name, config, id=None, **options):
    note("init", project, name, config, id is not None or options.get("resume") == "must")
    init.run = Run(id or name)
    return init.run
def Settings(**options):
    return None
def finish():
    init.run.finish()
def set_experiment(project):
    finish.project = project
def start_run(run_id, run_name):
    note("init", finish.project, run_id or run_name, None, run_id is not None)
    init.run = Run(run_id or run_name)
    return init.run
def log_params(config):
    note("config", config)
end_run = finish
entities = types.SimpleNamespace(Metric=lambda *point: point)
class MlflowClient:
    def log_batch(self, run, metrics):
        (step,) = {point[3] for point in metrics}
        assert all(point[2] > 1_700_000_000_000 for point in metrics)
        note("log", run, step, {point[0]: point[1] for point in metrics})
"#;

/// A run, and a folder with the three modules.
struct Fixture {
    dir: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(fixture.run()).unwrap();
        for service in ["trackio", "wandb", "mlflow"] {
            fs::write(fixture.path(&format!("{service}.py")), SERVICE).unwrap();
        }
        let settings = "steps = 4\n[rollout.sampling]\ntop_p = 1.0\n[lora]\ntargets = [\"q\"]\n";
        fs::write(fixture.run().join("settings.toml"), settings).unwrap();
        fixture
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8Path::from_path(self.dir.path()).unwrap().join(name)
    }

    fn run(&self) -> Utf8PathBuf {
        self.path("grpo")
    }

    fn script(&self, service: &str) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/log_run.py");
        let mut command = Command::new(python());
        command.args([script, self.run().as_str(), "--to", service, "--project", "p/q"]);
        command.env("PYTHONPATH", self.dir.path()).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn send(&self, service: &str) {
        let output = self.script(service).output().unwrap();
        assert!(output.status.success(), "{}", errors(&output));
    }

    fn calls(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.path("calls.jsonl")).unwrap_or_default();
        // The last line may be half written.
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// What was sent by run: steps in the order of sending, with their values.
    fn sent(&self) -> BTreeMap<String, Vec<(u64, Value)>> {
        let mut sent = BTreeMap::<_, Vec<_>>::new();
        for call in self.calls().iter().filter(|call| call[0] == "log") {
            let run = call[1].as_str().unwrap().to_owned();
            sent.entry(run).or_default().push((call[2].as_u64().unwrap(), call[3].clone()));
        }
        sent
    }

    /// What `metrics.jsonl` says, by the tags of TensorBoard.
    fn written(&self) -> Vec<(u64, Value)> {
        let text = fs::read_to_string(self.run().join("metrics.jsonl")).unwrap();
        let steps = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let values = scalars(&line).into_iter().map(|(tag, value)| (tag, json!(value)));
            (line["step"].as_u64().unwrap(), Value::Object(values.collect()))
        });
        steps.collect()
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Numbers as floats, so that no whole ones are left.
fn line(step: u64) -> Value {
    json!({
        "step": step, "reward": 0.125 * step as f64, "rollout_seconds": 1.5, "resident_bytes": 0.5,
        "tokens_per_second": 2.5, "validation": {"reward": 0.25}, "is_best": true, "note": "x",
    })
}

#[test]
fn every_service_gets_what_the_metrics_say_once() {
    for service in ["trackio", "wandb", "mlflow"] {
        let fixture = Fixture::new();
        let mut metrics = Metrics::restart(&fixture.run()).unwrap();
        metrics.append(&line(0)).unwrap();
        metrics.append(&line(1)).unwrap();
        let whole = fixture.written();
        // A line that is being written is not sent.
        let path = fixture.run().join("metrics.jsonl");
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"step\": 2, \"rew").unwrap();
        fixture.send(service);
        assert_eq!(fixture.sent(), BTreeMap::from([("grpo".to_owned(), whole)]), "{service}");
        let settings =
            json!({"steps": 4, "rollout.sampling.top_p": 1.0, "lora.targets": "[\"q\"]"});
        let is_told = |call: &Value| call[3] == settings || call[1] == settings;
        assert!(fixture.calls().iter().any(is_told), "{:?}", fixture.calls());

        // The run goes on, and so does the same run of the service.
        let mut metrics = Metrics::resume(&fixture.run(), 1).unwrap();
        metrics.append(&line(2)).unwrap();
        fixture.send(service);
        fixture.send(service);
        let expected = BTreeMap::from([("grpo".to_owned(), fixture.written())]);
        assert_eq!(fixture.sent(), expected, "{service}");
        let begun = fixture.calls().into_iter().filter(|call| call[0] == "init");
        let known: Vec<bool> = begun.map(|call| call[4].as_bool().unwrap()).collect();
        assert_eq!(known, [false, true], "{service}: a run that is known is resumed");
        let ends = fixture.calls().iter().filter(|call| call[0] == "finish").count();
        assert_eq!(ends, 2, "{service}");
    }
}

#[test]
fn followed_run_that_goes_back_continues_as_a_run_of_its_own() {
    let fixture = Fixture::new();
    let mut metrics = Metrics::restart(&fixture.run()).unwrap();
    let mut script = fixture.script("trackio");
    let mut follower = script.args(["--follow", "0.05"]).stderr(Stdio::piped()).spawn().unwrap();
    for step in 0..3 {
        metrics.append(&line(step)).unwrap();
    }
    let before = fixture.written();
    wait_for(|| fixture.sent().get("grpo") == Some(&before), "three steps to be sent");

    // Somebody starts it once more.
    let second = fixture.script("trackio").output().unwrap();
    assert!(!second.status.success() && errors(&second).contains("another log_run.py"));

    // Step 2 is made again, with another outcome.
    let mut metrics = Metrics::resume(&fixture.run(), 1).unwrap();
    metrics.append(&json!({"step": 2, "reward": 0.75})).unwrap();
    let after = fixture.written();
    wait_for(|| fixture.sent().get("grpo-2") == Some(&after), "the steps to be sent anew");
    assert_eq!(fixture.sent()["grpo"], before);

    Command::new("kill").arg(follower.id().to_string()).status().unwrap();
    assert!(follower.wait().unwrap().success());
    let calls = fixture.calls();
    assert_eq!(calls.last(), Some(&json!(["finish", "grpo-2"])));
    fixture.send("trackio");
    assert_eq!(fixture.calls(), calls, "nothing is new");
}

#[test]
fn folder_that_is_no_run_is_refused_and_so_is_a_missing_package() {
    let fixture = Fixture::new();
    Metrics::restart(&fixture.run()).unwrap().append(&line(0)).unwrap();
    fs::write(fixture.path("wandb.py"), "raise ImportError('no wandb here')").unwrap();
    let output = fixture.script("wandb").output().unwrap();
    assert!(!output.status.success() && errors(&output).contains("pip install wandb"));
    fs::remove_file(fixture.run().join("settings.toml")).unwrap();
    let output = fixture.script("trackio").output().unwrap();
    assert!(!output.status.success() && errors(&output).contains("no run of `rl sft`"));
}

fn wait_for(is_there: impl Fn() -> bool, what: &str) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_mins(1), "waited a minute for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
