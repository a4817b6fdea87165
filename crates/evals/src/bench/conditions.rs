//! Under which conditions an evaluation ran: what a reader must know before comparing its figures.

use super::suite::BenchName;
use agents::preset::{Preset, ScaffoldSettings};
use agents::run::agent::gpus_in_words;
use agents::run::python::PythonFacts;
use jail::isolation::tier::IsolationLevel;
use sandbox::env::TaskSuite;
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
    /// The Python of scripts, with its packages.
    pub python: PythonFacts,
}

impl BenchConditions {
    /// Of an evaluation on the tasks of `suite`, on this machine.
    pub fn new(
        bench: BenchName,
        preset: &Preset,
        suite: &TaskSuite,
        python: &PythonFacts,
        seeds: u64,
        jobs: usize,
    ) -> Self {
        Self {
            bench,
            preset: preset.clone(),
            seeds,
            jobs,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            tier: suite.sandbox().tier(),
            python: python.clone(),
        }
    }

    /// In words, a line each.
    pub fn lines(&self) -> Vec<(String, String)> {
        let Preset { scaffold, feedback, limits, settings, .. } = &self.preset;
        let (steps, seconds) = match settings {
            ScaffoldSettings::Search(search) => (search.steps, search.seconds),
            ScaffoldSettings::Linear(linear) => (linear.turns, linear.seconds),
        };
        let chosen = match settings {
            ScaffoldSettings::Search(_) => "the scaffold, by validation score",
            ScaffoldSettings::Linear(_) => "the agent",
        };
        let gpus = gpus_in_words(&limits.gpus);
        let packages = |names: Vec<&str>| {
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        };
        let leaks = match self.bench {
            BenchName::MlebenchLite => {
                "random-acts-of-pizza: a field of the training data names the giver"
            }
            BenchName::MleDojo => "not looked for",
            BenchName::Synthetic => "none: tasks are probed for them when they are made",
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
            ("pretrained weights", "none mounted".to_owned()),
            (
                "machine",
                format!("{} processors, {gpus}, {} runs at a time", self.processors, self.jobs),
            ),
            ("limits of a script", format!("{}, {}", limits.time_limit, limits.memory)),
            ("protection", self.tier.to_string()),
            ("Python", self.python.version.clone()),
            ("packages", packages(self.python.names().collect())),
            ("packages that are missing", packages(self.python.missing().collect())),
            ("known leaks", leaks.to_owned()),
            (
                "faults",
                "runs lost to faults of ours are redone at most twice, then shown".to_owned(),
            ),
        ];
        lines.map(|(name, value)| (name.to_owned(), value)).into()
    }
}
