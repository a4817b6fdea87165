//! Under which conditions an evaluation ran: what a reader must know before comparing its figures.

use super::machine::{BenchMachine, MachineOptions};
use super::suite::BenchName;
use agents::preset::{Preset, ScaffoldSettings};
use agents::run::agent::gpus_in_words;
use agents::run::python::PythonFacts;
use agents::run::weights::PretrainedWeights;
use jail::isolation::tier::IsolationLevel;
use serde::{Deserialize, Serialize};

/// The file in the folder of an evaluation that holds them.
pub const CONDITIONS: &str = "conditions.json";

/// The conditions of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchConditions {
    /// The benchmark.
    pub bench: BenchName,
    /// Scaffold, settings, feedback and limits.
    pub preset: Preset,
    /// Seeds that were played; all of them are reported.
    pub seeds: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// Processors of the machine.
    pub processors: usize,
    /// The protection that scripts ran under.
    pub tier: IsolationLevel,
    /// GPUs that were dealt out, and the folder of pretrained weights.
    #[serde(default)]
    pub machine: MachineOptions,
    /// What was in the folder of pretrained weights.
    #[serde(default)]
    pub weights: Option<String>,
    /// The Python of scripts, with its packages.
    pub python: PythonFacts,
    /// Packages of MLE-bench's environment that the Python of scripts has not.
    #[serde(default)]
    pub missing_packages: Vec<String>,
}

impl BenchConditions {
    /// Of an evaluation on `machine`.
    pub fn new(
        bench: BenchName,
        preset: &Preset,
        machine: &BenchMachine,
        seeds: u64,
        jobs: usize,
    ) -> Self {
        Self {
            bench,
            preset: preset.clone(),
            seeds,
            jobs,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            tier: machine.suite.sandbox().tier(),
            machine: machine.options().clone(),
            weights: machine.weights.as_ref().map(PretrainedWeights::list),
            python: machine.python.clone(),
            missing_packages: machine.missing_packages.clone(),
        }
    }

    /// In words, a line each.
    pub fn lines(&self) -> Vec<(String, String)> {
        let Preset { scaffold, feedback, limits, settings, .. } = &self.preset;
        let (steps, seconds) = match settings {
            ScaffoldSettings::Search(search) => (search.steps, search.seconds),
            ScaffoldSettings::AutoMind(automind) => (automind.steps, automind.seconds),
            ScaffoldSettings::Linear(linear) => (linear.turns, linear.seconds),
        };
        let chosen = match settings {
            ScaffoldSettings::Search(_) | ScaffoldSettings::AutoMind(_) => {
                "the scaffold, by validation score"
            }
            ScaffoldSettings::Linear(_) => "the agent",
        };
        let gpus = match &self.machine.gpus[..] {
            [] => gpus_in_words(&limits.gpus),
            dealt if self.machine.share_gpus => {
                format!("{} GPU(s), which runs share, one for each", dealt.len())
            }
            dealt => format!("{} GPU(s), one for each run", dealt.len()),
        };
        let weights = match &self.weights {
            None => "none",
            Some(list) => list,
        };
        let leaks = match self.bench {
            BenchName::MlebenchLite => {
                "random-acts-of-pizza: a field of the training data names the giver"
            }
            BenchName::Mlebench | BenchName::MleDojo => "not looked for",
            BenchName::Synthetic => "none: tasks are probed for them when they are made",
        };
        let missing = match (self.bench, &self.missing_packages[..]) {
            (BenchName::Synthetic, _) => "not asked for".to_owned(),
            (_, []) => "none".to_owned(),
            (_, names) => names.join(", "),
        };
        let lines = [
            (
                "scaffold",
                format!("{scaffold}, {steps} {}s, {seconds} s a run", settings.step_name()),
            ),
            ("feedback", feedback.name().to_owned()),
            ("final submission chosen by", chosen.to_owned()),
            ("seeds", format!("{}, all reported", self.seeds)),
            ("internet", "none".to_owned()),
            ("pretrained weights", weights.to_owned()),
            (
                "machine",
                format!("{} processors, {gpus}, {} runs at a time", self.processors, self.jobs),
            ),
            ("limits of a script", format!("{}, {}", limits.time_limit, limits.memory)),
            ("protection", self.tier.to_string()),
            ("Python", self.python.version.clone()),
            ("packages", self.python.list()),
            ("packages of MLE-bench that are missing", missing),
            ("known leaks", leaks.to_owned()),
            (
                "faults",
                "runs lost to faults of ours are redone at most twice, then shown".to_owned(),
            ),
        ];
        lines.map(|(name, value)| (name.to_owned(), value)).into()
    }
}
