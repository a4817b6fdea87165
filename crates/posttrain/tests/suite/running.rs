//! `posttrain run` with agents that tests write.

use crate::fixture::{PROGRAM, Place, suite};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde_json::{Value, json};
use std::process::{Child, Command, Output, Stdio};

/// A command line, and what of a run is looked at afterwards.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) place: Place,
}

impl Runs {
    pub(crate) fn new() -> Self {
        Self { place: Place::new() }
    }

    pub(crate) fn out(&self) -> Utf8PathBuf {
        self.place.path("run")
    }

    /// Writes an agent that is one file of Python with what agents of tests share; its folder.
    pub(crate) fn python(&self, script: &str, hints: &Value) -> Utf8PathBuf {
        let folder = self.place.path("agent");
        fs::create_dir_all(&folder).unwrap();
        let common = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/common.py");
        fs::copy(common, folder.join("common.py")).unwrap();
        fs::write(folder.join("agent.py"), script).unwrap();
        fs::write(folder.join("hints.json"), hints.to_string()).unwrap();
        let spec = "name = 'test'\ndescription = 'A test.'\nstart = ['python3', 'agent.py']\n\
                    modes = ['free', 'sft-only']\n";
        fs::write(folder.join("agent.toml"), spec).unwrap();
        folder
    }

    /// The command line of a run of this agent, on the task `household` if no flag names another.
    pub(crate) fn command(&self, agent: &str, flags: &[&str]) -> Command {
        let task = if flags.contains(&"--task") { &[][..] } else { &["--task", "household"] };
        let mut command = Command::new(PROGRAM);
        command
            .args(["run", suite().as_str(), "--agent", agent])
            .args(task)
            .args(["--base", self.place.path("base").as_str(), "--out", self.out().as_str()])
            .args(["--memory", "1GiB"])
            .args(if flags.contains(&"--budget") { &[][..] } else { &["--budget", "60s"] })
            .args(flags)
            .arg("--")
            .args(self.place.grader_command())
            .env("SECRET_API_KEY", "very secret");
        command
    }

    /// Runs an agent to its end.
    pub(crate) fn run(&self, agent: &str, flags: &[&str]) -> Output {
        self.command(agent, flags).output().unwrap()
    }

    /// Runs an agent whose run must end well; its result.
    pub(crate) fn result(&self, agent: &str, flags: &[&str]) -> Value {
        let output = self.run(agent, flags);
        assert!(output.status.success(), "{output:?}\n{}", self.log());
        self.read("result.json")
    }

    pub(crate) fn start(&self, agent: &str, flags: &[&str]) -> Child {
        self.command(agent, flags).stdout(Stdio::null()).spawn().unwrap()
    }

    pub(crate) fn read(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.out().join(name)).unwrap()).unwrap()
    }

    /// What the agent printed.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.out().join("agent.log")).unwrap_or_default()
    }

    /// The lines of the ledger.
    pub(crate) fn events(&self) -> Vec<Value> {
        let path = self.out().join("sealed/ledger.jsonl");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }
}

/// A length of sleep that no other process has.
pub(crate) fn marker() -> String {
    use std::time::{SystemTime, UNIX_EPOCH};
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("{}.{:09}", 5_000 + std::process::id() % 1_000, now.subsec_nanos())
}

/// The processes of this machine that have `word` as an argument.
pub(crate) fn processes_with(word: &str) -> usize {
    let has = |entry: fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| has(entry).then_some(())).count()
}

/// Where the sealed items are, and what an agent would like to write to, once a run is there.
pub(crate) fn paths(runs: &Runs) -> Value {
    let sealed = suite().join("household/sealed");
    let out = runs.out();
    json!({
        "sealed": [sealed.join("dev.jsonl"), sealed.join("test.jsonl")],
        "ledger": out.join("sealed/ledger.jsonl"),
        "metrics": out.join("sealed/metrics.json"),
        "scores": out.join("views/scores.json"),
        "operator": out.join("sealed/operator.sock"),
    })
}
