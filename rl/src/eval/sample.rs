//! A policy's own answers on training items, several on each, with their rewards: examples for `rl sft`
//! and pairs for `rl prefer`.
//!
//! Episodes are played as in an evaluation, but sampled, and on items that may be trained on alone.

use super::PolicyContestant;
use super::world::{WorldEvalError, WorldEvalSettings, play};
use crate::generate::sample::Sampling;
use crate::rollout::RolloutSettings;
use crate::run::settings::{SettingsError, Validate, require};
use crate::run::view::Stages;
use crate::text::template::{ChatMessage, ChatRole, ChatTemplate, TemplateError};
use crate::text::tokenizer::Tokenizer;
use crate::train::presets::{Dtype, Scale};
use crate::world::{TrainingItems, open_train};
use agents::trajectory::{EpisodeEnding, Source, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use evals::statistics::mean;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tasks::files;
use tasks::task::TaskId;
use worlds::TaskSpec;

/// The version of `sample.json`.
const VERSION: u32 = 1;

/// The settings of `rl sample`.
///
/// | field | default | purpose |
/// | --- | --- | --- |
/// | `attempts` | 4 | episodes per item |
/// | `items` | 0 | items, the first ones; 0 for all that may be trained on |
/// | `best` | 0 | how many episodes of an item become examples, those with the largest rewards; 0 for all |
/// | `threshold` | none | the smallest reward of an example |
/// | `rollout.sampling.temperature` | 1 | the larger, the more answers differ |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleSettings {
    /// The folder of the task.
    pub world: Utf8PathBuf,
    /// The policy: a run, a checkpoint or a model's folder.
    pub model: String,
    /// Episodes per item; at least 1.
    pub attempts: u64,
    /// Items that are played, the first ones; 0 for all that may be trained on.
    pub items: usize,
    /// Most episodes of an item that become examples, those with the largest rewards; 0 for all.
    pub best: usize,
    /// The smallest reward of an example, in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The seed of everything.
    pub seed: u64,
    /// The type of weights and activations.
    pub dtype: Dtype,
    /// How episodes are generated.
    pub rollout: RolloutSettings,
}

impl SampleSettings {
    /// The keys that may change when a run is continued: what is made of its episodes, and how many
    /// there are.
    pub const FREE: [&str; 5] = ["attempts", "items", "best", "threshold", "rollout.workers"];

    /// Defaults for a policy of this scale on this task.
    pub fn defaults(scale: Scale, spec: &TaskSpec) -> Self {
        let evaluation = WorldEvalSettings::defaults(scale, spec);
        // As in reinforcement, which these episodes take the place of.
        let rollout = RolloutSettings { sampling: scale.rollout().sampling, ..evaluation.rollout };
        Self {
            world: Utf8PathBuf::new(),
            model: String::new(),
            attempts: 4,
            items: 0,
            best: 0,
            threshold: None,
            seed: 0,
            dtype: scale.dtype(),
            rollout,
        }
    }
}

impl Validate for SampleSettings {
    type Error = SettingsError;

    fn verify(&self) -> Result<(), SettingsError> {
        require(self.attempts > 0, "attempts", &self.attempts, "at least 1")?;
        let Sampling { temperature, .. } = self.rollout.sampling;
        require(
            self.attempts == 1 || !self.rollout.sampling.is_greedy(),
            "rollout.sampling.temperature",
            &temperature,
            "above 0 with several `attempts`: greedy answers are all the same",
        )?;
        if let Some(threshold) = self.threshold {
            require(
                (0.0..=1.0).contains(&threshold),
                "threshold",
                &threshold,
                "between 0 and 1, as rewards are",
            )?;
        }
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

/// Why there are no samples.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Episodes could not be played.
    #[error(transparent)]
    Play(#[from] WorldEvalError),
    /// A conversation could not be laid out.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A file could not be written.
    #[error("failed to write the samples")]
    Io(#[from] std::io::Error),
}

/// A line of `samples.jsonl`: what `rl sft --data` reads, and where it comes from.
#[derive(Debug, Clone, Serialize)]
struct SampleLine<'a> {
    messages: &'a [ChatMessage],
    item: &'a TaskId,
    attempt: u64,
    reward: f64,
    score: f64,
    tags: &'a [String],
}

/// A line of `pairs.jsonl`: what `rl prefer --data` reads, and where it comes from.
#[derive(Debug, Clone, Serialize)]
struct PairLine<'a> {
    prompt: &'a [ChatMessage],
    chosen: &'a [ChatMessage],
    rejected: &'a [ChatMessage],
    item: &'a TaskId,
    reward_chosen: f64,
    reward_rejected: f64,
}

/// What was sampled, as in `sample.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SampleSummary {
    version: u32,
    /// The task.
    pub task: TaskId,
    /// Items that were played.
    pub items: usize,
    /// Episodes per item.
    pub attempts: u64,
    /// Episodes that were graded.
    pub episodes: usize,
    /// Episodes that an infrastructure error ended; they are in no file.
    pub faults: usize,
    /// Mean reward of an episode.
    pub reward: f64,
    /// Mean over items of the largest reward of an episode: what a perfect choice would have.
    pub best_reward: f64,
    /// Share of items whose episodes have different rewards.
    pub differing: f64,
    /// Lines of `samples.jsonl`.
    pub samples: usize,
    /// Lines of `pairs.jsonl`.
    pub pairs: usize,
}

/// An episode as a conversation.
struct SampledEpisode<'t> {
    trajectory: &'t Trajectory,
    messages: Vec<ChatMessage>,
    reward: f64,
}

impl<'t> SampledEpisode<'t> {
    fn new(trajectory: &'t Trajectory, template: &ChatTemplate<&Tokenizer>) -> Self {
        let mut prompt = [ChatRole::System, ChatRole::User].into_iter();
        let mut messages = Vec::new();
        for segment in &trajectory.segments {
            let message = match segment.source {
                Source::Prompt => {
                    let role = prompt.next().unwrap_or(ChatRole::User);
                    ChatMessage::new(role, segment.text.clone())
                }
                Source::Model => ChatMessage::new(ChatRole::Assistant, segment.text.clone()),
                // In the role in which the policy reads it.
                Source::Environment => template.observed(&segment.text),
                Source::Guide => ChatMessage::advice(&segment.text),
            };
            messages.push(message);
        }
        // Templates write their own where there is none.
        let is_empty = |it: &ChatMessage| it.content.as_deref().is_none_or(str::is_empty);
        if messages.first().is_some_and(|it| it.role == ChatRole::System && is_empty(it)) {
            messages.remove(0);
        }
        // What follows the last turn is read by nobody.
        let said = messages.iter().rposition(|it| it.role == ChatRole::Assistant);
        messages.truncate(said.map_or(0, |last| last + 1));
        Self { trajectory, messages, reward: trajectory.reward.total() }
    }

    /// What was said, to recognise equals.
    fn said(&self) -> Vec<&str> {
        self.messages.iter().filter_map(|message| message.content.as_deref()).collect()
    }

    /// How many messages come before the first turn.
    fn prompt(&self) -> usize {
        let is_turn = |it: &ChatMessage| it.role == ChatRole::Assistant;
        self.messages.iter().position(is_turn).unwrap_or(self.messages.len())
    }
}

/// Plays what has not been played yet, and writes `episodes/`, `samples.jsonl`, `pairs.jsonl` and
/// `sample.json` into `out`.
///
/// # Errors
/// [`SampleError`].
pub fn run(
    settings: &SampleSettings,
    policy: &PolicyContestant,
    out: &Utf8Path,
    stages: &dyn Stages,
) -> Result<SampleSummary, SampleError> {
    let TrainingItems { world, mut train, .. } =
        open_train(&settings.world).map_err(WorldEvalError::from)?;
    if settings.items > 0 {
        train.truncate(settings.items);
    }
    let task = world.spec().id.clone();
    let evaluation = WorldEvalSettings {
        world: settings.world.clone(),
        part: worlds::Part::Train,
        policies: Vec::new(),
        attempts: settings.attempts,
        seed: settings.seed,
        dtype: settings.dtype,
        rollout: settings.rollout.clone(),
    };
    let items: Vec<&TaskId> = train.iter().collect();
    let played = play(&evaluation, &*world, &items, policy, out, stages)?;

    let wanted: BTreeSet<&TaskId> = train.iter().collect();
    let template = ChatTemplate::new(&policy.tokenizer)?;
    let mut of_item: BTreeMap<&TaskId, Vec<SampledEpisode<'_>>> = BTreeMap::new();
    for episode in &played.episodes {
        let is_wanted = wanted.contains(&episode.task) && episode.attempt < settings.attempts;
        if is_wanted && episode.verdict().is_some() {
            let sampled = SampledEpisode::new(episode, &template);
            of_item.entry(&episode.task).or_default().push(sampled);
        }
    }
    let (mut samples, mut pairs) = (Vec::new(), Vec::new());
    let (mut sample_count, mut pair_count) = (0, 0);
    let (mut rewards, mut best_rewards, mut differing) = (Vec::new(), Vec::new(), 0_u32);
    for (item, episodes) in &mut of_item {
        // The best first; of equals the earlier attempt.
        episodes.sort_by(|a, b| {
            b.reward.total_cmp(&a.reward).then(a.trajectory.attempt.cmp(&b.trajectory.attempt))
        });
        rewards.extend(episodes.iter().map(|episode| episode.reward));
        best_rewards.extend(episodes.first().map(|episode| episode.reward));
        let ends = episodes.first().zip(episodes.last());
        differing += u32::from(ends.is_some_and(|(best, worst)| best.reward > worst.reward));
        for episode in chosen(settings, episodes) {
            write_line(&mut samples, &sample_line(item, episode))?;
            sample_count += 1;
        }
        if let Some(pair) = pair_of(item, episodes) {
            write_line(&mut pairs, &pair)?;
            pair_count += 1;
        }
    }
    let summary = SampleSummary {
        version: VERSION,
        task,
        items: of_item.len(),
        attempts: settings.attempts,
        episodes: rewards.len(),
        faults: played.faults,
        reward: mean(rewards.iter().copied()),
        best_reward: mean(best_rewards.iter().copied()),
        differing: f64::from(differing) / of_item.len().max(1) as f64,
        samples: sample_count,
        pairs: pair_count,
    };
    files::write_atomic(&out.join("samples.jsonl"), &samples)?;
    files::write_atomic(&out.join("pairs.jsonl"), &pairs)?;
    files::write_json(&out.join("sample.json"), &summary)?;
    Ok(summary)
}

/// The episodes of an item, best first, that become examples: different ones that ended by themselves,
/// with the rewards that were asked for.
fn chosen<'e, 't>(
    settings: &SampleSettings,
    episodes: &'e [SampledEpisode<'t>],
) -> Vec<&'e SampledEpisode<'t>> {
    let mut said = BTreeSet::new();
    let least = settings.threshold.unwrap_or(0.0);
    let good = episodes.iter().filter(|episode| {
        episode.reward >= least && is_whole(episode) && said.insert(episode.said())
    });
    good.take(if settings.best == 0 { usize::MAX } else { settings.best }).collect()
}

/// Whether no turn was cut off: an example would teach to end where the tokens did.
fn is_whole(episode: &SampledEpisode<'_>) -> bool {
    episode.trajectory.ending != EpisodeEnding::Tokens && !episode.messages.is_empty()
}

/// The best and the worst episode of an item, if their rewards differ. A turn that was cut off may be
/// rejected, but never chosen.
fn pair_of<'e>(item: &'e TaskId, episodes: &'e [SampledEpisode<'_>]) -> Option<PairLine<'e>> {
    let best = episodes.iter().find(|episode| is_whole(episode))?;
    let worst = episodes.iter().rev().find(|episode| !episode.messages.is_empty())?;
    if best.reward <= worst.reward {
        return None;
    }
    let (prompt, chosen) = best.messages.split_at(best.prompt());
    let rejected = worst.messages.get(worst.prompt()..)?;
    Some(PairLine {
        prompt,
        chosen,
        rejected,
        item,
        reward_chosen: best.reward,
        reward_rejected: worst.reward,
    })
}

fn sample_line<'e>(item: &'e TaskId, episode: &'e SampledEpisode<'_>) -> SampleLine<'e> {
    let verdict = episode.trajectory.verdict();
    SampleLine {
        messages: &episode.messages,
        item,
        attempt: episode.trajectory.attempt,
        reward: episode.reward,
        score: verdict.map_or(0.0, |verdict| verdict.score),
        tags: verdict.map_or(&[], |verdict| &verdict.tags),
    }
}

fn write_line(lines: &mut Vec<u8>, line: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *lines, line)?;
    lines.push(b'\n');
    Ok(())
}

impl fmt::Display for SampleSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} episodes on {} items, {} faults",
            self.task, self.episodes, self.items, self.faults
        )?;
        writeln!(
            f,
            "mean reward {:.3}; best of {} {:.3}; rewards differ on {:.0} % of items",
            self.reward,
            self.attempts,
            self.best_reward,
            100.0 * self.differing
        )?;
        writeln!(f, "samples.jsonl: {} examples; pairs.jsonl: {} pairs", self.samples, self.pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::Pieces;
    use agents::trajectory::TRAJECTORY_VERSION;
    use serde_json::{Value, json};

    fn episode(attempt: u64, said: &str, reward: f64, ending: &str) -> Trajectory {
        let segment = |source: &str, text: &str| json!({"source": source, "text": text});
        let value = json!({
            "version": TRAJECTORY_VERSION, "task": "sums-train-1", "agent": "policy",
            "attempt": attempt, "ending": ending, "timed_out": false, "turns": [],
            "segments": [
                segment("prompt", ""), segment("prompt", "1 + 1"), segment("model", "hm"),
                segment("environment", "go on"), segment("model", said),
                segment("environment", "right"),
            ],
            "outcome": {"world": {"reward": reward, "score": reward}},
            "reward": {"format": 0.0, "execution": 0.0, "tier": reward},
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn best_whole_and_different_answers_are_chosen_and_paired_with_the_worst() {
        let texts = vec!["system user assistant\n".to_owned(); 3];
        let tokenizer = Tokenizer::train(&texts, 300, Pieces::Lines).unwrap();
        let template = ChatTemplate::new(&tokenizer).unwrap();
        let played = [
            episode(0, "3", 0.2, "answered"),
            episode(1, "2", 1.0, "answered"),
            episode(2, "2", 1.0, "answered"),
            episode(3, "2, as", 1.0, "tokens"),
            episode(4, "two", 0.6, "answered"),
        ];
        let mut episodes: Vec<SampledEpisode<'_>> =
            played.iter().map(|it| SampledEpisode::new(it, &template)).collect();
        episodes.sort_by(|a, b| b.reward.total_cmp(&a.reward));
        let spec = crate::eval::world::tests::spec();
        let attempts = |best: usize, threshold: Option<f64>| -> Vec<u64> {
            let settings =
                SampleSettings { best, threshold, ..SampleSettings::defaults(Scale::Tiny, &spec) };
            chosen(&settings, &episodes).iter().map(|it| it.trajectory.attempt).collect()
        };
        assert_eq!(attempts(0, None), [1, 4, 0], "one of two equals, and none that was cut off");
        assert_eq!(attempts(1, None), [1]);
        assert_eq!(attempts(0, Some(0.5)), [1, 4]);

        let item = TaskId::new("sums-train-1").unwrap();
        let pair = serde_json::to_value(pair_of(&item, &episodes).unwrap()).unwrap();
        let said = |side: &Value| -> Vec<String> {
            let messages = side.as_array().unwrap().iter();
            messages.map(|it| it["content"].as_str().unwrap().to_owned()).collect()
        };
        // The empty system message is left out, and so is what follows the last turn.
        assert_eq!(said(&pair["prompt"]), ["1 + 1"]);
        assert_eq!(said(&pair["chosen"]), ["hm", "go on", "2"]);
        assert_eq!(said(&pair["rejected"]), ["hm", "go on", "3"]);
        assert_eq!(pair["reward_chosen"], json!(1.0));
        let observed = template.observed("go on");
        assert_eq!(pair["chosen"][1], serde_json::to_value(&observed).unwrap());
        assert!(pair_of(&item, &episodes[..2]).is_none(), "equal rewards prefer nothing");
    }
}
