//! What scripts of a benchmark run on: the sandbox with its tasks, Python, GPUs and pretrained
//! weights.

use super::packages::missing_packages;
use super::suite::BenchName;
use agents::run::python::{PythonFacts, PythonFactsError};
use agents::run::weights::PretrainedWeights;
use camino::Utf8PathBuf;
use jail::exec::SandboxOptions;
use jail::isolation::gpus::NoGpu;
use jail::limits::Gpus;
use sandbox::env::{SuiteError, TaskSuite};
use serde::{Deserialize, Serialize};
use std::io;
use tasks::task::Collection;

/// GPUs and pretrained weights, as flags give them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineOptions {
    /// GPUs that are dealt out, one to each run that plays. None: what the preset says.
    pub gpus: Vec<u32>,
    /// Whether runs that play at a time may share a GPU.
    pub share_gpus: bool,
    /// A folder of pretrained weights.
    pub weights: Option<Utf8PathBuf>,
}

/// What scripts of a benchmark run on.
#[derive(Debug)]
pub struct BenchMachine {
    /// The tasks, their sandbox and their graders.
    pub suite: TaskSuite,
    /// The Python that scripts run with.
    pub python: PythonFacts,
    /// Packages of MLE-bench's environment that it has not; empty for a corpus, where nobody
    /// expects them.
    pub missing_packages: Vec<String>,
    /// Pretrained weights that scripts find in `models/`.
    pub weights: Option<PretrainedWeights>,
    options: MachineOptions,
}

/// Why there is nothing to run scripts on.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The sandbox does not start.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// Python does not say what it has.
    #[error(transparent)]
    Python(#[from] PythonFactsError),
    /// There are too few GPUs.
    #[error(
        "{jobs} runs play at a time, and there are GPUs for {gpus}: lower `--jobs`, or let runs \
         share GPUs with `--share-gpus`"
    )]
    TooFewGpus {
        /// Runs at a time.
        jobs: usize,
        /// GPUs to deal out.
        gpus: usize,
    },
    /// A GPU cannot be used.
    #[error(transparent)]
    Gpu(#[from] NoGpu),
    /// Pretrained weights cannot be read.
    #[error("failed to read the pretrained weights in `{folder}`")]
    Weights {
        /// The folder.
        folder: Utf8PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl MachineOptions {
    /// Whether `jobs` runs at a time can have a GPU each.
    fn check(&self, jobs: usize) -> Result<(), MachineError> {
        if self.gpus.is_empty() || self.share_gpus || jobs <= self.gpus.len() {
            return Ok(());
        }
        Err(MachineError::TooFewGpus { jobs, gpus: self.gpus.len() })
    }

    /// The GPUs of the runs that worker `worker` plays, one after the other; none if the preset
    /// decides.
    fn dealt(&self, worker: usize) -> Option<Gpus> {
        let count = self.gpus.len().max(1);
        self.gpus.get(worker % count).map(|gpu| Gpus::Only([*gpu].into()))
    }
}

impl BenchMachine {
    /// Starts a sandbox for `jobs` runs at a time on the `tasks` of a benchmark, each with as many
    /// as `workers` scripts at once. GPUs are looked for, and every file of pretrained weights is
    /// read at its beginning and end.
    ///
    /// # Errors
    /// [`MachineError`]; nothing runs then.
    pub fn start(
        bench: BenchName,
        tasks: Collection,
        (jobs, workers): (usize, usize),
        options: MachineOptions,
    ) -> Result<Self, MachineError> {
        options.check(jobs)?;
        let weights = options.weights.as_deref().map(|folder| {
            PretrainedWeights::of(folder)
                .map_err(|source| MachineError::Weights { folder: folder.to_owned(), source })
        });
        let weights = weights.transpose()?;
        let sandbox = SandboxOptions {
            slots: jobs * workers,
            weights: options.weights.clone(),
            ..bench.sandbox()
        };
        let suite = TaskSuite::start(tasks, sandbox)?;
        if !options.gpus.is_empty() {
            let all = Gpus::Only(options.gpus.iter().copied().collect());
            suite.sandbox().host_gpus().check(&all)?;
        }
        let python = PythonFacts::ask(suite.sandbox())?;
        let missing_packages = match bench {
            BenchName::MlebenchLite | BenchName::Mlebench | BenchName::MleDojo => {
                missing_packages(suite.sandbox())?
            }
            BenchName::Synthetic => Vec::new(),
        };
        Ok(Self { suite, python, missing_packages, weights, options })
    }

    /// What it was started with.
    pub fn options(&self) -> &MachineOptions {
        &self.options
    }

    /// The GPUs of the runs that worker `worker` plays, one after the other; none if the preset
    /// decides.
    pub(super) fn dealt(&self, worker: usize) -> Option<Gpus> {
        self.options.dealt(worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::outcome::tests::header;

    #[test]
    fn run_goes_on_with_another_gpu_and_not_with_more() {
        let on = |gpus: &str| {
            let mut header = header();
            header.limits.gpus = gpus.parse().unwrap();
            header
        };
        assert!(on("0").differences(&on("1")).is_empty());
        for other in ["0,1", "all", "none"] {
            assert_eq!(on("0").differences(&on(other)).len(), 1, "{other}");
        }
    }

    #[test]
    fn each_worker_has_a_gpu_of_its_own_unless_they_share() {
        let none = MachineOptions::default();
        none.check(8).unwrap();
        assert_eq!(none.dealt(0), None);
        let mut two = MachineOptions { gpus: vec![3, 1], ..none };
        two.check(2).unwrap();
        let dealt = |of: &MachineOptions, worker| of.dealt(worker).unwrap().to_string();
        assert_eq!((dealt(&two, 0), dealt(&two, 1)), ("3".to_owned(), "1".to_owned()));
        let refused = two.check(3).unwrap_err().to_string();
        assert!(refused.contains("3 runs") && refused.contains("--share-gpus"), "{refused}");
        two.share_gpus = true;
        two.check(3).unwrap();
        assert_eq!(dealt(&two, 2), "3");
    }
}
