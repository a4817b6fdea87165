//! What a run is asked for.

use crate::agents::{AgentFolder, Mode};
use crate::clock::{Budget, ClockMode};
use crate::digest::Digest;
use crate::gateway::{GatewayRecord, GatewaySettings};
use crate::ledger::{Aggregate, Protocol, SubmissionLimits};
use camino::Utf8PathBuf;
use jail::program::{Isolation, ProgramLimits};
use jail::python::PythonEnv;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The version of `run.toml`.
const VERSION: u32 = 1;

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// The suite, with its sealed half.
    pub suite: Utf8PathBuf,
    /// The task.
    pub task: String,
    /// The agent: a name, or a folder.
    pub agent: String,
    /// The base model.
    pub base: Utf8PathBuf,
    /// The agent's time.
    pub budget: Budget,
    /// How it may train.
    pub mode: Mode,
    /// What submissions are scored on.
    pub protocol: Protocol,
    /// How the score follows from those of the items; without it, as the task says.
    pub aggregate: Option<Aggregate>,
    /// How often it may submit.
    pub submissions: SubmissionLimits,
    /// What the agent gets as `SEED`.
    pub seed: u64,
    /// The folder of the run.
    pub out: Utf8PathBuf,
    /// How the agent is kept apart from the host.
    pub isolation: Isolation,
    /// What it may use.
    pub limits: ProgramLimits,
    /// Time between SIGTERM and SIGKILL when its time is over.
    pub grace: Duration,
    /// The Python that it finds.
    pub python: Option<PythonEnv>,
    /// Where the programs of the toolbox are.
    pub toolbox: Utf8PathBuf,
    /// Where `rl` finds shared libraries.
    pub libraries: Option<Utf8PathBuf>,
    /// The command line of the grader.
    pub grader: Vec<String>,
    /// Time that one grading may take.
    pub grading_limit: Duration,
    /// The device that models are graded on, as the grader calls it.
    pub device: String,
    /// A file that is locked while a model is graded.
    pub device_lock: Option<Utf8PathBuf>,
    /// This program, which starts boxes and graders.
    pub program: Utf8PathBuf,
    /// The chat models that an agent may ask which names one.
    pub gateway: Option<GatewaySettings>,
}

impl RunSettings {
    /// The gateway that this agent gets: one that names no chat model has no door to any.
    pub(super) fn gateway_of(&self, agent: &AgentFolder) -> Option<&GatewaySettings> {
        agent.spec().model.as_ref().and(self.gateway.as_ref())
    }
}

/// What of the settings makes a run what it is: a run that is started again must have the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunRecord {
    pub(crate) version: u32,
    pub(crate) task: String,
    pub(crate) agent: String,
    pub(crate) agent_hash: Digest,
    pub(crate) base: String,
    pub(crate) suite: Utf8PathBuf,
    pub(crate) mode: Mode,
    pub(crate) seed: u64,
    pub(crate) budget_ms: u64,
    pub(crate) clock: ClockMode,
    pub(crate) protocol: Protocol,
    pub(crate) isolation: String,
    pub(crate) memory: String,
    pub(crate) processes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cpus: Option<u32>,
    pub(crate) gpus: String,
    pub(crate) disk: String,
    pub(crate) device: String,
    pub(crate) grader: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gateway: Option<GatewayRecord>,
}

impl RunRecord {
    pub(super) fn new(settings: &RunSettings, agent: &AgentFolder) -> std::io::Result<Self> {
        Ok(Self {
            version: VERSION,
            task: settings.task.clone(),
            agent: agent.spec().name.clone(),
            agent_hash: agent.digest(),
            base: settings.base.canonicalize_utf8()?.into_string(),
            suite: settings.suite.canonicalize_utf8()?,
            mode: settings.mode,
            seed: settings.seed,
            budget_ms: settings.budget.limit_ms,
            clock: settings.budget.clock,
            protocol: settings.protocol,
            isolation: settings.isolation.to_string(),
            memory: settings.limits.memory.to_string(),
            processes: settings.limits.processes,
            cpus: settings.limits.cpus.map(Into::into),
            gpus: settings.limits.gpus.to_string(),
            disk: settings.limits.disk.to_string(),
            device: settings.device.clone(),
            grader: settings.grader.clone(),
            gateway: settings.gateway_of(agent).map(GatewaySettings::record),
        })
    }

    /// The names of what differs.
    pub(super) fn differences(&self, other: &Self) -> Vec<&'static str> {
        [
            ("version", self.version != other.version),
            ("task", self.task != other.task),
            ("agent", self.agent != other.agent || self.agent_hash != other.agent_hash),
            ("base", self.base != other.base),
            ("suite", self.suite != other.suite),
            ("mode", self.mode != other.mode),
            ("seed", self.seed != other.seed),
            ("budget", self.budget_ms != other.budget_ms),
            ("clock", self.clock != other.clock),
            ("protocol", self.protocol != other.protocol),
            ("isolation", self.isolation != other.isolation),
            ("memory", self.memory != other.memory),
            ("processes", self.processes != other.processes),
            ("cpus", self.cpus != other.cpus),
            ("gpus", self.gpus != other.gpus),
            ("disk", self.disk != other.disk),
            ("device", self.device != other.device),
            ("grader", self.grader != other.grader),
            ("gateway", self.gateway != other.gateway),
        ]
        .into_iter()
        .filter_map(|(name, differs)| differs.then_some(name))
        .collect()
    }
}
