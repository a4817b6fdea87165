//! Policies on a benchmark, with their weights in this process.
//!
//! ```text
//! <out>/<policy>/runs/<task>/seed<k>/…                        as `agents eval` writes them
//! <out>/leaderboard.html, runs.json, mlebench/                 all policies together
//! ```
//! One policy plays after another. The runs of one are batched: as many of them generate at a time
//! as the KV cache has room for, while the scripts of others run.

use super::PolicyContestant;
use super::player::{PlayerSettings, PolicyPlayerError, with_policy};
use crate::generate::Capacity;
use crate::rollout::RolloutSettings;
use crate::run::settings::{SettingsError, Validate, require};
use crate::run::view::Stages;
use crate::train::presets::{Dtype, Scale};
use agents::knowledge::Knowledge;
use agents::preset::Preset;
use agents::run::stop::AgentStop;
use camino::{Utf8Path, Utf8PathBuf};
use evals::bench::conditions::BenchConditions;
use evals::bench::machine::{BenchMachine, MachineError, MachineOptions};
use evals::bench::runner::{Bench, BenchError, BenchPlayed, BenchProgress, BenchRest};
use evals::bench::suite::{BenchName, BenchTasksError, Selection, open};
use evals::bench::summary::BenchField;
use indicatif::ProgressBar;
use llm::Price;
use serde::{Deserialize, Serialize};
use tasks::task::{Opening, TaskId};

/// The settings of `rl eval --bench`.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `preset` | – | scaffold, limits and feedback |
/// | `seeds` | 3 | runs of each task, with seeds 0, 1, … |
/// | `jobs` | 4 | runs at a time |
/// | `grade_steps` | false | also grade what would have counted after each step, on competitions too |
/// | `rollout` | by the size of the policy | `max_num_seqs`, `max_model_len`, `cache`, `turn_tokens` and `sampling.min_p`; temperature and top-p are the preset's |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchEvalSettings {
    /// The benchmark.
    pub bench: BenchName,
    /// The folder with its data.
    pub data: Utf8PathBuf,
    /// Names and sources of the policies, in the order in which they play.
    pub policies: Vec<(String, String)>,
    /// The scaffold with its settings.
    pub preset: Preset,
    /// Runs of each task; at least 1.
    pub seeds: u64,
    /// Runs at a time; at least 1.
    pub jobs: usize,
    /// Whether what would have counted after each step is graded on competitions as well.
    pub grade_steps: bool,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// How answers are generated.
    pub rollout: RolloutSettings,
}

impl BenchEvalSettings {
    /// Defaults for policies of this scale under `preset`.
    pub fn defaults(bench: BenchName, preset: Preset, scale: Scale) -> Self {
        let rollout = scale.rollout();
        // Questions of a search hold the whole page of the task, which a tiny policy has not been
        // trained to read; it reads it all the same.
        let max_model_len = rollout.max_model_len.max(8192);
        Self {
            bench,
            data: Utf8PathBuf::new(),
            policies: Vec::new(),
            preset,
            seeds: 3,
            jobs: 4,
            grade_steps: false,
            dtype: scale.dtype(),
            rollout: RolloutSettings { max_model_len, ..rollout },
        }
    }
}

impl Validate for BenchEvalSettings {
    type Error = SettingsError;

    fn verify(&self) -> Result<(), SettingsError> {
        self.preset.limits.check()?;
        require(self.seeds > 0, "seeds", &self.seeds, "at least 1")?;
        require(self.jobs > 0, "jobs", &self.jobs, "at least 1")?;
        super::check_names(&self.policies)?;
        self.rollout.check()
    }
}

/// Why a benchmark was not played.
#[derive(Debug, thiserror::Error)]
pub enum BenchEvalError {
    /// Its tasks cannot be used.
    #[error(transparent)]
    Tasks(#[from] BenchTasksError),
    /// There is nothing to run scripts on.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// A policy cannot play.
    #[error("`{name}` cannot play")]
    Policy {
        /// The policy.
        name: String,
        /// Why.
        #[source]
        source: PolicyPlayerError,
    },
    /// A run cannot go on.
    #[error(transparent)]
    Bench(#[from] BenchError),
}

/// Which tasks of a benchmark are played, what their folders do not hold, and what scripts run on.
#[derive(Debug, Clone, Copy)]
pub struct BenchData<'a> {
    /// Those that are played.
    pub selection: &'a Selection,
    /// Checkouts of the benchmarks.
    pub opening: &'a Opening,
    /// Leaderboards of MLE-bench's competitions, `ID.csv` each.
    pub boards: Option<&'a Utf8Path>,
    /// GPUs and pretrained weights of scripts.
    pub machine: &'a MachineOptions,
}

/// How an evaluation ended.
#[derive(Debug)]
pub struct BenchEvaluation {
    /// The benchmark.
    pub field: BenchField,
    /// What became of the runs of all policies.
    pub played: BenchPlayed,
    /// Under which conditions they played.
    pub conditions: BenchConditions,
}

/// Plays the benchmark with every policy; the runs go on where they were.
///
/// # Errors
/// [`BenchEvalError`].
pub fn run(
    settings: &BenchEvalSettings,
    data: BenchData<'_>,
    policies: Vec<PolicyContestant>,
    out: &Utf8Path,
    stages: &dyn Stages,
    stop: &AgentStop,
) -> Result<BenchEvaluation, BenchEvalError> {
    let BenchData { selection, opening, boards, machine } = data;
    let (field, tasks) = open(settings.bench, &settings.data, opening, selection)?;
    let count = tasks.tasks().len() as u64 * settings.seeds;
    let slots = settings.jobs * settings.preset.workers();
    let size = (settings.jobs, settings.preset.workers());
    let machine = BenchMachine::start(settings.bench, tasks, size, machine.clone())?;
    let conditions = BenchConditions::new(
        settings.bench,
        &settings.preset,
        &machine,
        settings.seeds,
        settings.jobs,
    );
    let mut evaluation = BenchEvaluation { field, played: BenchPlayed::default(), conditions };
    for PolicyContestant { name, model, tokenizer } in policies {
        let bar = RunsBar(stages.stage("playing", count));
        bar.0.set_message(name.clone());
        let agent = format!("{}/{name}", settings.preset.scaffold);
        let folder = out.join(&name);
        let player = PlayerSettings {
            capacity: Capacity {
                rows: settings.rollout.max_num_seqs.min(slots),
                ..settings.rollout.capacity()
            },
            turn_tokens: settings.rollout.turn_tokens,
            min_p: settings.rollout.sampling.min_p,
        };
        let played = with_policy(&name, &model, tokenizer, player, |players| {
            let bench = Bench {
                machine: &machine,
                preset: &settings.preset,
                agent: &agent,
                players,
                knowledge: Knowledge::shipped(),
                trials: None,
                price: Some(Price::FREE),
                out: &folder,
                seeds: settings.seeds,
                jobs: settings.jobs,
                grade_steps: settings.grade_steps,
                boards,
                stop,
                progress: &bar,
            };
            bench.play()
        });
        bar.0.finish();
        let played = played.map_err(|source| BenchEvalError::Policy { name, source })??;
        evaluation.played.extend(played);
    }
    Ok(evaluation)
}

struct RunsBar(ProgressBar);

impl BenchProgress for RunsBar {
    fn rest(&self, task: &TaskId, seed: u64, rest: &BenchRest) {
        self.0.inc(1);
        if self.0.is_hidden() {
            tracing::info!(%task, seed, how = %rest, "played");
        }
    }
}
