//! Scripts that make training data, in the jail for scripts: no network, the raw data read-only in
//! `data/`, a work dir that is gone afterwards.
//!
//! `script -> facts without a run`, `script -> run -> data.json`. A planner's script is never run
//! anywhere else. One that has a teacher leaves questions instead, until all have an answer.

use super::fault::FtFault;
use super::sample::DATA;
use super::settings::FtLimits;
use super::teacher::{ANSWERS, Asked, MODULE, QUESTIONS};
use camino::Utf8Path;
use jail::exec::{Outcome, Sandbox, SandboxOptions};
use jail::limits::{Keep, RunLimits};
use jail::python::PythonEnv;
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use tasks::collect::CollectError;
use tasks::task::{PublicDir, TaskId};
use tasks::units::{ByteSize, Span};
use worlds::Runner;

/// The name of a script in its work dir.
const SCRIPT: &str = "process_data.py";
/// Reads a script and says what it needs.
const FACTS: &str = include_str!("facts.py");
/// Runs a script.
const RUN: &str = include_str!("run_script.py");
/// Wall time of reading a script.
const READING: Span = Span::seconds(20);
/// What is kept of either stream, at both ends.
const KEPT: Keep = Keep { head: ByteSize::kib(16), tail: ByteSize::kib(64) };
/// Characters of an error that a planner is shown.
const SAID: usize = 4_000;

/// Where scripts run.
#[derive(Debug, Clone)]
pub struct ScriptBox {
    sandbox: Sandbox,
    pool: TaskId,
}

/// What can be said of a script without running it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptFacts {
    /// Why it is no Python.
    pub(super) syntax: Option<SyntaxFault>,
    /// Modules that the jail does not have.
    pub(super) missing: Vec<MissingModule>,
    /// Paths that it cannot use.
    pub(super) paths: Vec<PathFault>,
}

/// Why a script is no Python.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SyntaxFault {
    pub(super) line: u32,
    pub(super) message: String,
}

/// A module that the jail does not have.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MissingModule {
    pub(super) name: String,
    pub(super) line: u32,
}

/// A path that a script names and cannot use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathFault {
    pub(super) path: String,
    pub(super) problem: PathProblem,
    pub(super) line: u32,
}

/// What is wrong with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PathProblem {
    /// It lies neither in the work dir nor in the raw data.
    Outside,
    /// The raw data has no such file.
    Missing,
    /// It lies in the raw data, and is to be written.
    ReadOnly,
}

/// A run of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRun {
    /// How it ended.
    pub outcome: Outcome,
    /// What it printed.
    pub printed: String,
    /// The end of its standard error.
    pub said: String,
    /// Its `data.json`, or why there is none.
    pub data: Result<Vec<u8>, String>,
    /// Wall time.
    pub wall: Duration,
    /// What it asked a teacher and has no answer to, or why that cannot be read. It ended there.
    pub(super) asks: Option<Result<Vec<u8>, String>>,
    /// What it was answered.
    pub asked: Asked,
}

impl ScriptBox {
    /// Starts the jail, with the folder `pool` as raw data.
    ///
    /// # Errors
    /// [`FtFault::Start`], or [`FtFault::Io`] if the pool cannot be shown.
    pub fn start(
        python: &PythonEnv,
        options: SandboxOptions,
        pool: &Utf8Path,
    ) -> Result<Self, FtFault> {
        let name = TaskId::new("pool").expect("a plain name");
        let public = PublicDir::raw_data(pool)?;
        let sandbox = Sandbox::start(python, options, &[(name.clone(), public)])?;
        Ok(Self { sandbox, pool: name })
    }

    /// What runs the programs of tasks that are scored by runs.
    pub fn runner(&self) -> Arc<dyn Runner> {
        Arc::new(self.sandbox.clone())
    }

    /// Reads a script, which may import the module of a teacher if it has one.
    pub(super) fn facts(
        &self,
        script: &str,
        has_teacher: bool,
    ) -> Result<Result<ScriptFacts, String>, FtFault> {
        let limits = RunLimits { time_limit: READING, ..RunLimits::default() };
        let run = self.sandbox.workspace(&self.pool)?;
        run.place(SCRIPT, script.as_bytes())?;
        if has_teacher {
            run.place(MODULE.0, MODULE.1.as_bytes())?;
        }
        let run = run.run(FACTS, &limits)?;
        let (head, tail) = run.stdout.kept();
        Ok(serde_json::from_slice(&tail.unwrap_or(head)).map_err(|_| {
            let (outcome, said) = (&run.outcome, end_of(&run.stderr.text()));
            format!("its reading {outcome}: {said}")
        }))
    }

    /// Runs a script for at most `limit`, with `--debug` or in full; with the `answers` of a teacher if it
    /// has one.
    ///
    /// # Errors
    /// [`FtFault::Jail`]; whatever the script does is in the [`ScriptRun`].
    pub(super) fn run(
        &self,
        script: &str,
        is_debug: bool,
        limit: Duration,
        limits: &FtLimits,
        answers: Option<&[u8]>,
    ) -> Result<ScriptRun, FtFault> {
        let work = self.sandbox.workspace(&self.pool)?;
        work.place(SCRIPT, script.as_bytes())?;
        if let Some(answers) = answers {
            work.place(MODULE.0, MODULE.1.as_bytes())?;
            work.place(ANSWERS, answers)?;
        }
        let bounds = RunLimits {
            time_limit: Span(limit),
            memory: limits.script_memory,
            file_size: limits.data_bytes,
            stdout: KEPT,
            stderr: KEPT,
            ..RunLimits::default()
        };
        let code = format!("DEBUG = {}\n{RUN}", u8::from(is_debug));
        let run = work.run(&code, &bounds)?;
        let collect = |name| work.collect(name, limits.data_bytes.bytes());
        let data = collect(DATA).map_err(|error| error.to_string());
        let asks = match answers.map(|_| collect(QUESTIONS)) {
            None | Some(Err(CollectError::Missing { .. })) => None,
            Some(asks) => Some(asks.map_err(|error| error.to_string())),
        };
        Ok(ScriptRun {
            outcome: run.outcome,
            printed: run.stdout.text(),
            said: end_of(&run.stderr.text()),
            data,
            wall: run.wall,
            asks,
            asked: Asked::default(),
        })
    }
}

/// The end of an error, where its cause stands.
fn end_of(text: &str) -> String {
    let text = text.trim();
    let skipped = text.chars().count().saturating_sub(SAID);
    text.chars().skip(skipped).collect()
}
