//! Policies on the items of one part of a task of a suite.

use super::{PolicyContestant, check_names};
use crate::generate::NativeGenerator;
use crate::generate::sample::Sampling;
use crate::rollout::{
    EpisodeRequest, Policy, RolloutContext, RolloutError, RolloutResult, RolloutSettings, rollout,
};
use crate::run::settings::{SettingsError, Validate, require};
use crate::run::stop::Stop;
use crate::run::view::Stages;
use crate::run::watchdog::Heartbeat;
use crate::train::presets::{Dtype, Scale};
use crate::world::{WorldError, open_part};
use agents::play::EpisodeFault;
use agents::trajectory::{self, EnvironmentVerdict, Trajectory, TrajectoryError};
use camino::{Utf8Path, Utf8PathBuf};
use evals::report::ReportTable;
use evals::runner::episodes_of;
use evals::statistics::{mean, standard_error};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tasks::files;
use tasks::stream::Stream;
use tasks::task::TaskId;
use tasks::text::with_causes;
use worlds::{Environment, Part, TaskSpec};

/// The version of `evaluation.json` of a task of a suite.
const VERSION: u32 = 1;

/// The settings of `rl eval --world`.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `part` | `test` | which items |
/// | `attempts` | 1 | episodes per policy and item |
/// | `rollout.sampling.temperature` | the task's, 0 | greedy: with one attempt, the same score each time |
/// | `rollout.deterministic` | yes | episodes wait for each other, so that runs repeat to the bit |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldEvalSettings {
    /// The folder of the task.
    pub world: Utf8PathBuf,
    /// Which items.
    pub part: Part,
    /// Names and sources of the policies, in the order of the table.
    pub policies: Vec<(String, String)>,
    /// Episodes per policy and item.
    pub attempts: u64,
    /// The seed of everything.
    pub seed: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// How episodes are generated.
    pub rollout: RolloutSettings,
}

impl WorldEvalSettings {
    /// Defaults for policies of this scale on this task.
    pub fn defaults(scale: Scale, spec: &TaskSpec) -> Self {
        let rollout = RolloutSettings {
            max_model_len: spec.limits.context as usize,
            turn_tokens: spec.limits.turn_tokens as usize,
            deterministic: true,
            sampling: Sampling { temperature: spec.sampling.temperature, ..Sampling::default() },
            ..scale.rollout()
        };
        Self {
            world: Utf8PathBuf::new(),
            part: Part::Test,
            policies: Vec::new(),
            attempts: 1,
            seed: 0,
            dtype: scale.dtype(),
            rollout,
        }
    }
}

impl Validate for WorldEvalSettings {
    type Error = SettingsError;

    fn verify(&self) -> Result<(), SettingsError> {
        require(self.attempts > 0, "attempts", &self.attempts, "at least 1")?;
        check_names(&self.policies)?;
        let is_local = self.rollout.engine.is_none() && self.rollout.sandboxes.is_empty();
        require(
            is_local,
            "rollout",
            &"with engines or servers of sandboxes",
            "without: this process plays",
        )?;
        self.rollout.check()
    }
}

/// Why there is no evaluation.
#[derive(Debug, thiserror::Error)]
pub enum WorldEvalError {
    /// The task cannot be used.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Episodes could not be generated.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// What a user's scorer makes of all items is no score.
    #[error(transparent)]
    Score(#[from] EpisodeFault),
    /// Episodes could not be read or written.
    #[error(transparent)]
    Trajectories(#[from] TrajectoryError),
    /// A file could not be written.
    #[error("failed to write the evaluation")]
    Io(#[from] std::io::Error),
    /// Every episode of a policy broke.
    #[error("every episode of `{policy}` broke; the error of the last one: {last}")]
    AllFaulted {
        /// Name of the policy.
        policy: String,
        /// The error of the last one, with its causes.
        last: String,
    },
}

/// The result, as in `evaluation.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldEvaluation {
    version: u32,
    /// The task.
    pub task: TaskId,
    /// The part of its items.
    pub part: Part,
    /// The name of the score.
    pub metric: String,
    /// Episodes per policy and item.
    pub attempts: u64,
    /// The seed of every draw.
    pub seed: u64,
    /// A row per policy.
    pub rows: Vec<WorldRow>,
}

/// What a policy reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldRow {
    /// Its name.
    pub policy: String,
    /// The score over all items, as the environment makes it: the mean, or a win rate.
    pub score: f64,
    /// The standard error of the mean score over items.
    pub error: f64,
    /// The mean reward over items.
    pub reward: f64,
    /// Turns an episode, in the mean.
    pub turns: f64,
    /// Episodes that an infrastructure error ended; they have no score.
    pub faults: usize,
    /// What ended the last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fault: Option<String>,
    /// How many episodes have each tag.
    pub tags: BTreeMap<String, usize>,
    /// Item after item.
    pub items: Vec<ItemScore>,
}

/// What a policy reached on an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ItemScore {
    /// Name of the item.
    pub id: TaskId,
    /// The mean score of the attempts.
    pub score: f64,
    /// The tags of all attempts.
    pub tags: BTreeSet<String>,
}

/// Plays and grades all policies; writes `evaluation.json`, and each policy's episodes into `out`
/// as they end. Episodes that are there are not played again.
///
/// # Errors
/// [`WorldEvalError`].
pub fn run(
    settings: &WorldEvalSettings,
    policies: &[PolicyContestant],
    out: &Utf8Path,
    stages: &dyn Stages,
) -> Result<WorldEvaluation, WorldEvalError> {
    let world = open_part(&settings.world, settings.part)?;
    let mut rows = Vec::new();
    for policy in policies {
        rows.push(row(settings, &*world, policy, out, stages)?);
    }
    let spec = world.spec();
    let evaluation = WorldEvaluation {
        version: VERSION,
        task: spec.id.clone(),
        part: settings.part,
        metric: spec.metric.clone(),
        attempts: settings.attempts,
        seed: settings.seed,
        rows,
    };
    files::write_json(&out.join("evaluation.json"), &evaluation)?;
    Ok(evaluation)
}

/// Plays the episodes of one policy that are not on disk, and sums up all of them.
fn row(
    settings: &WorldEvalSettings,
    world: &dyn Environment,
    policy: &PolicyContestant,
    out: &Utf8Path,
    stages: &dyn Stages,
) -> Result<WorldRow, WorldEvalError> {
    let played = play(settings, world, &world.items(), policy, out, stages)?;
    WorldRow::new(world, &policy.name, played)
}

/// Episodes on disk.
#[derive(Debug)]
pub(super) struct PlayedEpisodes {
    /// All, those of earlier starts included.
    pub(super) episodes: Vec<Trajectory>,
    /// Episodes of this start that an infrastructure error ended.
    pub(super) faults: usize,
    /// What ended the last of them.
    pub(super) last_fault: Option<String>,
}

/// Plays the episodes of one policy on these items that are not on disk.
///
/// # Errors
/// [`WorldEvalError`].
pub(super) fn play(
    settings: &WorldEvalSettings,
    world: &dyn Environment,
    items: &[&TaskId],
    policy: &PolicyContestant,
    out: &Utf8Path,
    stages: &dyn Stages,
) -> Result<PlayedEpisodes, WorldEvalError> {
    let PolicyContestant { name, model, tokenizer } = policy;
    let path = episodes_of(name, out);
    fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
    let mut episodes = trajectory::resume(&path)?;
    let done: BTreeSet<_> = episodes.iter().map(Trajectory::key).collect();
    // The policy's name is not part of the address: all policies have the same draws.
    let root = Stream::root(settings.seed).child("eval").child("policy");
    let mut jobs = Vec::new();
    for &task in items {
        for attempt in 0..settings.attempts {
            if !done.contains(&(task, name.as_str(), attempt)) {
                let stream = root.child(task.as_str()).index(attempt);
                jobs.push(EpisodeRequest { task, attempt, stream });
            }
        }
    }
    let (mut faults, mut last_fault) = (0, None);
    if !jobs.is_empty() {
        let bar = stages.stage("evaluating", (episodes.len() + jobs.len()) as u64);
        bar.set_position(episodes.len() as u64);
        bar.set_message(name.clone());
        let context = RolloutContext {
            world,
            settings: &settings.rollout,
            guide: None,
            // Ctrl-C ends an evaluation at once: episodes that are done stay done.
            stop: &Stop::default(),
            heartbeat: &Heartbeat::default(),
        };
        let mut generator = NativeGenerator::new(model, settings.rollout.capacity());
        let speaker = Policy { name, tokenizer };
        rollout(&mut generator, speaker, context, &jobs, &mut |played| {
            bar.inc(1);
            match played {
                RolloutResult::Finished { trajectory, .. } => {
                    trajectory::append(&path, std::slice::from_ref(trajectory))
                }
                RolloutResult::Fault { task, fault } => {
                    faults += 1;
                    let why = with_causes(fault);
                    tracing::warn!(%task, fault = why, "an episode broke and is left out");
                    last_fault = Some(why);
                    Ok(())
                }
            }
        })?;
        bar.finish_and_clear();
        episodes = trajectory::resume(&path)?;
    }
    if episodes.is_empty() {
        let last = last_fault.unwrap_or_default();
        return Err(WorldEvalError::AllFaulted { policy: name.clone(), last });
    }
    Ok(PlayedEpisodes { episodes, faults, last_fault })
}

/// The attempts at an item.
#[derive(Debug, Default)]
struct ItemEpisodes {
    scores: Vec<f64>,
    rewards: Vec<f64>,
    tags: BTreeSet<String>,
}

impl WorldRow {
    fn new(
        world: &dyn Environment,
        policy: &str,
        played: PlayedEpisodes,
    ) -> Result<Self, WorldEvalError> {
        let PlayedEpisodes { episodes, faults, last_fault } = played;
        let mut of_item: BTreeMap<&TaskId, ItemEpisodes> = BTreeMap::new();
        let mut tags: BTreeMap<String, usize> = BTreeMap::new();
        for episode in &episodes {
            let Some(verdict) = episode.verdict() else { continue };
            let found = of_item.entry(&episode.task).or_default();
            found.scores.push(verdict.score);
            found.rewards.push(verdict.reward);
            found.tags.extend(verdict.tags.iter().cloned());
            verdict.tags.iter().for_each(|tag| *tags.entry(tag.clone()).or_default() += 1);
        }
        let mean_of = |values: &[f64]| mean(values.iter().copied());
        let rewards: Vec<f64> = of_item.values().map(|found| mean_of(&found.rewards)).collect();
        let items: Vec<ItemScore> = of_item
            .into_iter()
            .map(|(id, found)| ItemScore {
                id: id.clone(),
                score: mean_of(&found.scores),
                tags: found.tags,
            })
            .collect();
        let scores: Vec<f64> = items.iter().map(|item| item.score).collect();
        // Most kinds have the mean; a win rate is more than that.
        let mut of_attempt: BTreeMap<u64, Vec<&EnvironmentVerdict>> = BTreeMap::new();
        for episode in &episodes {
            of_attempt.entry(episode.attempt).or_default().extend(episode.verdict());
        }
        let attempts = of_attempt.values().filter_map(|verdicts| world.score(verdicts).transpose());
        let attempts: Vec<f64> = attempts.collect::<Result<_, _>>()?;
        let turns = episodes.iter().map(|episode| episode.turns.len() as f64);
        Ok(Self {
            policy: policy.to_owned(),
            score: mean_of(&attempts),
            error: standard_error(&scores),
            reward: mean_of(&rewards),
            turns: mean(turns),
            faults,
            last_fault,
            tags,
            items,
        })
    }
}

impl WorldEvaluation {
    /// The table for people.
    pub fn table(&self) -> String {
        let row = |row: &WorldRow| {
            let tags: Vec<String> =
                row.tags.iter().map(|(tag, count)| format!("{tag} {count}")).collect();
            vec![
                row.policy.clone(),
                format!("{:.3} ± {:.3}", row.score, row.error),
                format!("{:.3}", row.reward),
                format!("{:.1}", row.turns),
                row.faults.to_string(),
                tags.join(", "),
            ]
        };
        let columns = [&*self.metric, "reward", "turns", "faults", "tags"];
        let table = ReportTable {
            title: format!("{}, {} items", self.task, self.part),
            note: format!(
                "Attempts an item: {}. Means over items with their standard error.",
                self.attempts
            ),
            columns: std::iter::once("policy").chain(columns).map(str::to_owned).collect(),
            rows: self.rows.iter().map(row).collect(),
        };
        table.markdown()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use worlds::TaskSpec;

    /// A task of sums.
    pub(in crate::eval) fn spec() -> TaskSpec {
        let text = r#"
            id = "sums"
            level = 1
            world = "arithmetic"
            kind = "static"
            direction = "higher"
            failure_score = 0.0
            objective = "Add."
            output = "a number"
            turns = 1
            turn_tokens = 32
            context = 512
            sampling = { temperature = 0.0 }
            score = { metric = "accuracy", threshold = 0.0 }
            items = { train = 20, dev = 5, test = 5 }
            audit = { forbidden = [] }
            source = { kind = "generated", seed = 1, version = 1, scale = "tiny" }
        "#;
        TaskSpec::from_toml(text).unwrap()
    }
}
