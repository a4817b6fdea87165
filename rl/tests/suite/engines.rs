//! Training over inference engines: with servers that answer as vLLM and SGLang do, and run
//! transformers, a run is the same as with our own engine, whatever fails on the way.
//!
//! The servers draw from the same random streams, so runs can be compared number by number.

use crate::corpus;
use crate::loops::{HiddenProgress, checkpoints, curve, finished, sft_settings};
use crate::transformers::python;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rl::checkpoint::source::{BuiltIn, PolicySource};
use rl::generate::remote::{EngineApi, EngineSettings};
use rl::run::settings::{Checked, Validate as _};
use rl::run::stop::Stop;
use rl::train::grpo::{self, TrainError, TrainSettings};
use rl::train::presets::Scale;
use rl::train::sft;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tasks::stream::Stream;
use tch::Device;

const STEPS: u64 = 3;
/// Seconds in which a server that is lost comes back, however busy the machine is.
const PATIENCE: u64 = 120;

/// Servers in one process, killed at the end.
struct Engines {
    child: Child,
    addresses: Vec<String>,
}

impl Engines {
    /// Servers of `api` with the policy in `model`, one for each list of faults; see
    /// `tests/reference/engine.py`.
    fn start(dir: &Utf8Path, api: EngineApi, model: &Utf8Path, faults: &[Value]) -> Self {
        let server = |faults: &Value| json!({ "api": name(api), "port": 0, "faults": faults });
        let servers: Vec<Value> = faults.iter().map(server).collect();
        let plan = json!({ "model": model, "keys": keys(), "servers": servers });
        let file = dir.join("engines.json");
        fs::write(&file, plan.to_string()).unwrap();
        let script = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/engine.py");
        let mut child = Command::new(python())
            .args([script.as_str(), file.as_str()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let addresses = lines.take(faults.len()).map(Result::unwrap).collect();
        Self { child, addresses }
    }

    /// Settings with which a run waits `patience_seconds` for a server.
    fn settings(&self, api: EngineApi, patience_seconds: u64) -> EngineSettings {
        EngineSettings { patience_seconds, ..EngineSettings::new(api, self.addresses.clone()) }
    }
}

impl Drop for Engines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn name(api: EngineApi) -> &'static str {
    match api {
        EngineApi::Vllm => "vllm",
        EngineApi::Sglang => "sglang",
    }
}

/// The key of the random stream of each turn of the run, by the seed that servers are sent.
fn keys() -> Map<String, Value> {
    let root = Stream::root(0).child("grpo");
    let mut conversations = Vec::new();
    for attempt in 0..2 {
        for (step, place) in (0..STEPS).flat_map(|step| [(step, 0), (step, 1)]) {
            let stream = root.child("episodes").index(step);
            conversations.push(stream.index(place).index(attempt));
        }
        conversations.push(root.child("validation").child("three").index(attempt));
    }
    let turns = conversations
        .into_iter()
        .flat_map(|conversation| (0..40).map(move |turn| conversation.child("turn").index(turn)));
    let key = |stream: Stream| {
        stream.rng().get_seed().iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    turns.map(|stream| ((stream.seed() >> 1).to_string(), key(stream).into())).collect()
}

fn settings(tasks: &Utf8Path, model: &Utf8Path, engine: Option<EngineSettings>) -> TrainSettings {
    let mut settings = TrainSettings {
        model: model.to_string(),
        tasks: tasks.to_owned(),
        steps: STEPS,
        tasks_per_step: 2,
        group_size: 2,
        learning_rate: 1e-3,
        warmup: 0,
        validate_every: 1,
        validate_attempts: 2,
        checkpoint_every: 10,
        tis_cap: 2.0,
        ..TrainSettings::defaults(Scale::Tiny)
    };
    // Rounding decides the sign of gradients near zero, and with that a step of Adam's.
    settings.adam.epsilon = 1e-3;
    settings.rollout.deterministic = true;
    settings.rollout.turn_tokens = 240;
    settings.rollout.sampling.min_p = 0.0;
    // Rounding moves the borders between tokens, and there are hundreds of them in the tail: the
    // less of it is drawn, the less a draw can land on the other side.
    settings.rollout.sampling.temperature = 0.8;
    settings.rollout.engine = engine;
    settings
}

/// Runs, or goes on with, a run in `out`.
fn train(settings: TrainSettings, out: &Utf8Path) -> Result<Utf8PathBuf, TrainError> {
    fs::create_dir_all(out).unwrap();
    let policy = Utf8PathBuf::from(&settings.model);
    let settings: Checked<TrainSettings> = settings.check().unwrap();
    let stop = Stop::default();
    grpo::run(&settings, &policy, out, Device::Cpu, &HiddenProgress, &stop).map(finished)
}

/// Whether two runs are the same but for rounding.
fn assert_same(found: &[Value], native: &[Value]) {
    assert_eq!(found.len(), native.len());
    for (found, native) in found.iter().zip(native) {
        let of_validation = |line: &Value| line["validation"].clone();
        assert_eq!(of_validation(found), of_validation(native), "{found}\n{native}");
        if native["step"] == 0 {
            continue;
        }
        for name in ["step", "reward", "played", "episodes", "faults", "trained", "trained_tokens"]
        {
            assert!(native[name].is_number(), "{name}: {native}");
            assert_eq!(found[name], native[name], "{name}: {found}\n{native}");
        }
        for (name, most) in [("loss", 1e-5), ("gradient_norm", 1e-4)] {
            let [found, native] = [found, native].map(|line| line[name].as_f64().unwrap());
            assert!((found - native).abs() < most, "{name}: {found} {native}");
        }
        assert!(found["log_prob_gap"].as_f64().unwrap() < 1e-4, "{found}");
    }
}

#[test]
fn runs_over_engines_are_the_native_run_whatever_fails() {
    tch::set_num_threads(1);
    let dir = tempfile::tempdir().unwrap();
    let dir = Utf8Path::from_path(dir.path()).unwrap();
    let tasks = dir.join("tasks");
    corpus::write(&tasks);
    let (sft, policy) = (dir.join("sft"), PolicySource::BuiltIn(BuiltIn::Tiny));
    fs::create_dir(&sft).unwrap();
    let imitation = sft_settings(&tasks).check().unwrap();
    let stop = Stop::default();
    let ended = sft::run(&imitation, &policy, &sft, Device::Cpu, &HiddenProgress, &stop);
    let model = finished(ended.unwrap());

    let native = dir.join("native");
    train(settings(&tasks, &model, None), &native).unwrap();
    let native = curve(&native);
    assert_eq!(native.len() as u64, 1 + STEPS);
    let learns = |line: &Value| line["trained_tokens"].as_u64() > Some(0);
    assert!(native.iter().filter(|line| learns(line)).count() > 1, "{native:?}");

    // Turns of two servers that drop a connection, are full, answer with other pages and with
    // numbers that are none, keep old weights, have wrong ones, and refuse new ones.
    let faults = [
        json!([
            ["generate", 2, 2, "drop"],
            ["generate", 4, 5, "full"],
            ["generate", 7, 7, "garbage"],
            ["generate", 10, 10, "short"],
            ["generate", 13, 13, "unlikely"],
        ]),
        json!([["load", 2, 2, "stale"], ["load", 4, 4, "spoil"], ["load", 5, 5, "refuse"]]),
    ];
    for api in [EngineApi::Vllm, EngineApi::Sglang] {
        let engines = Engines::start(dir, api, &model, &faults);
        let out = dir.join(format!("{}-faults", name(api)));
        train(settings(&tasks, &model, Some(engines.settings(api, PATIENCE))), &out).unwrap();
        assert_same(&curve(&out), &native);
        assert!(!out.join("published").exists(), "the copies of the weights are removed");
    }

    // A server that was started anew answers with the weights that it began with. SGLang says so
    // in each answer, vLLM when it is asked at the end of the rollout.
    let restarts = [json!([["generate", 20, 20, "restart"]])];
    let api = EngineApi::Sglang;
    let engines = Engines::start(dir, api, &model, &restarts);
    let out = dir.join("sglang-restarted");
    train(settings(&tasks, &model, Some(engines.settings(api, PATIENCE))), &out).unwrap();
    assert_same(&curve(&out), &native);

    let api = EngineApi::Vllm;
    let out = dir.join("vllm-restarted");
    let engines = Engines::start(dir, api, &model, &restarts);
    let run = |engines: &Engines, patience: u64| {
        train(settings(&tasks, &model, Some(engines.settings(api, patience))), &out)
    };
    let error = format!("{:?}", anyhow::Error::from(run(&engines, 2).unwrap_err()));
    assert!(error.contains("version `default` of the weights"), "{error}");
    let steps_before = checkpoints(&out).len();
    assert_eq!(steps_before, 1, "what was trained is saved: {error}");

    // Nobody is left, then nobody has the right weights; the same command goes on each time.
    drop(engines);
    let engines = Engines::start(dir, api, &model, &[json!([["generate", 4, 4, "die"]])]);
    let error = format!("{:?}", anyhow::Error::from(run(&engines, 2).unwrap_err()));
    assert!(error.contains("no server can generate (http://127.0.0.1:"), "{error}");
    let engines = Engines::start(dir, api, &model, &[json!([["load", 1, 99, "spoil"]])]);
    let error = format!("{:?}", anyhow::Error::from(run(&engines, 2).unwrap_err()));
    assert!(error.contains("it has not the weights of step"), "{error}");
    let engines = Engines::start(dir, api, &model, &[json!([])]);
    run(&engines, PATIENCE).unwrap();
    assert_same(&curve(&out), &native);
}
