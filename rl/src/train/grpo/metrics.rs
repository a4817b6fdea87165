//! A line of `metrics.jsonl`; `docs/METRICS.md` explains the names.

use super::TrainSettings;
use super::batch::Batch;
use super::draw::DrawMetrics;
use super::mask::EpisodeCounts;
use super::stuck::StuckPlay;
use crate::generate::engine::CacheUse;
use crate::rollout::ContextOverflow;
use crate::run::device::memory_in_use;
use crate::run::metrics::resident_memory;
use crate::run::view::StepSummary;
use crate::run::watchdog::Phase;
use crate::train::learner::UpdateStats;
use agents::reward::RewardWeights;
use agents::script_cache::ScriptCacheUse;
use agents::trajectory::{EpisodeEnding, Trajectory};
use evals::evaluation::EvaluationRow;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use tch::Device;

/// One line of `metrics.jsonl`: a step with its update, its validation and its times.
#[derive(Debug, Serialize)]
pub(super) struct StepMetrics {
    pub(super) step: u64,
    #[serde(flatten)]
    pub(super) train: Option<TrainMetrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) validation: Option<EpisodeSummary>,
    /// Of the training episodes and the validation, if there is a script cache.
    #[serde(flatten)]
    pub(super) script_cache: Option<ScriptCacheMetrics>,
    #[serde(flatten)]
    pub(super) times: PhaseTimes,
}

/// What the script cache was used for since the line before, or since the start.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ScriptCacheMetrics {
    /// Share of scripts that were answered from the cache, in [0, 1]; 0 without scripts.
    cached_scripts: f64,
    /// Cached replies that were compared with a real run.
    cache_checks: u64,
    /// Real runs whose reply, outcome or reward was another than the cached one.
    cache_mismatches: u64,
}

impl From<ScriptCacheUse> for ScriptCacheMetrics {
    fn from(found: ScriptCacheUse) -> Self {
        Self {
            cached_scripts: found.share(),
            cache_checks: found.checks,
            cache_mismatches: found.mismatches,
        }
    }
}

/// Seconds that each phase took since the line before, or since the start; `step_seconds` is their
/// sum.
#[derive(Debug, Default, Serialize)]
#[expect(clippy::struct_field_names, reason = "they are the metrics' names")]
pub(super) struct PhaseTimes {
    prefill_seconds: f64,
    decode_seconds: f64,
    waiting_seconds: f64,
    scoring_seconds: f64,
    forward_backward_seconds: f64,
    optimizer_seconds: f64,
    validation_seconds: f64,
    saving_seconds: f64,
    other_seconds: f64,
    step_seconds: f64,
}

impl PhaseTimes {
    pub(super) fn from_durations(times: &BTreeMap<Phase, Duration>) -> Self {
        let mut all = Self::default();
        for (phase, time) in times {
            let seconds = match phase {
                Phase::Prefill => &mut all.prefill_seconds,
                Phase::Decode => &mut all.decode_seconds,
                Phase::Waiting => &mut all.waiting_seconds,
                Phase::Scoring => &mut all.scoring_seconds,
                Phase::ForwardBackward => &mut all.forward_backward_seconds,
                Phase::Optimizer => &mut all.optimizer_seconds,
                Phase::Saving => &mut all.saving_seconds,
                Phase::Other => &mut all.other_seconds,
            };
            *seconds += time.as_secs_f64();
            all.step_seconds += time.as_secs_f64();
        }
        all
    }

    /// Counts what was spent since then as validation, whatever its phases.
    pub(super) fn add_validation(&mut self, times: &BTreeMap<Phase, Duration>) {
        let seconds = times.values().sum::<Duration>().as_secs_f64();
        self.validation_seconds += seconds;
        self.step_seconds += seconds;
    }
}

/// Means and shares over graded episodes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct EpisodeSummary {
    pub(super) reward: f64,
    /// The mean score, in environments other than MLE tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) score: Option<f64>,
    pub(super) reward_format: f64,
    pub(super) reward_execution: f64,
    pub(super) reward_tier: f64,
    /// Left out without a weight for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reward_beyond: Option<f64>,
    pub(super) valid: f64,
    pub(super) median: f64,
    pub(super) bronze: f64,
    pub(super) silver: f64,
    pub(super) gold: f64,
    pub(super) turns: f64,
    pub(super) answered: f64,
    pub(super) out_of_tokens: f64,
    pub(super) tokens: f64,
    pub(super) episodes: usize,
    pub(super) faults: usize,
}

/// The metrics of a step. With several updates on one batch, norms and losses are their means.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TrainMetrics {
    #[serde(flatten)]
    pub(super) summary: EpisodeSummary,
    #[serde(flatten)]
    pub(super) episode_counts: EpisodeCounts,
    /// Share of groups whose rewards differ; the others have no gradient.
    pub(super) mixed_groups: f64,
    /// What the draws were like, if they depend on earlier groups.
    #[serde(flatten)]
    pub(super) curriculum: Option<DrawMetrics>,
    /// Rounds of drawing tasks, and groups that dynamic sampling replaced.
    #[serde(alias = "draws")]
    pub(super) sampling_rounds: u64,
    pub(super) replaced_groups: usize,
    pub(super) updates: usize,
    pub(super) loss: f64,
    /// Share of trained tokens whose ratio was clipped.
    #[serde(alias = "clipped")]
    pub(super) clip_fraction: f64,
    /// Mean KL divergence to the reference model per token, in nats, if there is a KL penalty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kl: Option<f64>,
    /// Mean weight of truncated importance sampling, if there is a cap.
    #[serde(alias = "importance", skip_serializing_if = "Option::is_none")]
    pub(super) tis_weight: Option<f64>,
    /// Mean of -log p over sampled tokens, an estimate of the entropy per token.
    pub(super) entropy: f64,
    /// The largest difference between sampler and trainer, and the mean one, in nats.
    pub(super) log_prob_gap: f64,
    #[serde(default)]
    pub(super) log_prob_gap_mean: f64,
    pub(super) gradient_norm: f64,
    #[serde(alias = "rate")]
    pub(super) learning_rate: f64,
    pub(super) trained_tokens: usize,
    /// Sampled tokens that leave the loss because of the verdict on their turn, if there is `credit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dropped_tokens: Option<usize>,
    /// Summaries that an episode was shortened by, in the mean, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) summaries: Option<f64>,
    /// Groups that were stuck, if somebody advises them.
    #[serde(flatten)]
    pub(super) stuck: Option<StuckMetrics>,
    pub(super) tokens_per_second: f64,
    /// Preemptions in the KV cache, tokens that were prefilled again because of them, and the most
    /// bytes that the cache held.
    #[serde(default)]
    pub(super) preemptions: u64,
    #[serde(default, alias = "reread_tokens")]
    pub(super) recomputed_tokens: u64,
    #[serde(default)]
    pub(super) cache_bytes: u64,
    pub(super) rollout_seconds: f64,
    pub(super) update_seconds: f64,
    pub(super) resident_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) device_bytes: Option<u64>,
}

/// Groups that were stuck and were played once more with advice.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct StuckMetrics {
    /// Groups of which every episode stayed below `guide.below`.
    pub(super) stuck_groups: usize,
    /// Guided episodes that were graded, and their mean reward; they count nowhere else.
    pub(super) guided_episodes: usize,
    pub(super) guided_reward: f64,
    /// Guided episodes that an infrastructure error ended.
    pub(super) guided_faults: usize,
    /// Guided episodes that are imitated, and those of them whose context is excised.
    pub(super) imitated_episodes: usize,
    pub(super) excised_episodes: usize,
    /// Their tokens in the loss, in one pass.
    pub(super) imitated_tokens: usize,
    /// The mean of -log p over these, before its weight, averaged over passes; 0 without any.
    pub(super) imitation_loss: f64,
    pub(super) guided_seconds: f64,
}

impl StuckMetrics {
    /// Of the guided episodes of a step, whose imitation had these statistics in all `passes` together.
    pub(super) fn new(stuck: &StuckPlay, imitation: &UpdateStats, passes: usize) -> Self {
        Self {
            stuck_groups: stuck.groups,
            guided_episodes: stuck.trajectories.len(),
            guided_reward: stuck.reward(),
            guided_faults: stuck.faults,
            imitated_episodes: stuck.samples.len(),
            excised_episodes: stuck.excised,
            imitated_tokens: imitation.tokens / passes.max(1),
            imitation_loss: imitation.loss / passes.max(1) as f64,
            guided_seconds: stuck.seconds,
        }
    }
}

/// The episodes of a step, besides their counts.
pub(super) struct Gathered {
    pub(super) summary: EpisodeSummary,
    /// What the draws were like, if they depend on earlier groups.
    pub(super) curriculum: Option<DrawMetrics>,
    /// How often tasks were drawn.
    pub(super) draws: u64,
    pub(super) cache: CacheUse,
    /// How long the rollouts took, guided ones left out.
    pub(super) seconds: f64,
    /// Groups that were stuck, if somebody advises them.
    pub(super) stuck: Option<StuckMetrics>,
}

/// The updates of a step.
pub(super) struct Made<'a> {
    pub(super) stats: UpdateStats,
    /// Tokens on which sampler and trainer were compared.
    pub(super) compared: usize,
    /// Gradient norms before clipping, one per update.
    pub(super) norms: &'a [f64],
    pub(super) rate: f64,
    /// How long all but the rollouts took.
    pub(super) seconds: f64,
}

impl TrainMetrics {
    pub(super) fn new(
        settings: &TrainSettings,
        batch: &Batch,
        gathered: Gathered,
        made: &Made<'_>,
        device: Device,
    ) -> Self {
        let Gathered { summary, curriculum, draws, cache, seconds, stuck } = gathered;
        let summarises = settings.rollout.context_overflow == ContextOverflow::Summarise;
        let Made { stats, compared, norms, rate, .. } = *made;
        let (updates, tokens) = (norms.len(), stats.tokens.max(1) as f64);
        let per_update = 1.0 / updates.max(1) as f64;
        let (groups, mixed) = batch.groups();
        Self {
            episode_counts: batch.episode_counts,
            mixed_groups: mixed as f64 / groups.max(1) as f64,
            curriculum,
            sampling_rounds: draws,
            replaced_groups: groups.saturating_sub(settings.tasks_per_step),
            updates,
            loss: stats.loss * per_update,
            clip_fraction: stats.clipped / tokens,
            kl: (settings.kl.beta > 0.0).then(|| stats.kl / tokens),
            tis_weight: (settings.tis_cap > 0.0).then(|| stats.importance / tokens),
            entropy: batch.entropy(),
            log_prob_gap: stats.gap,
            log_prob_gap_mean: stats.gaps / compared.max(1) as f64,
            // A sum of nothing is -0.
            gradient_norm: norms.iter().fold(0.0, |sum, norm| sum + norm) * per_update,
            learning_rate: rate,
            trained_tokens: stats.tokens,
            dropped_tokens: (!settings.credit.is_off()).then(|| batch.dropped_tokens()),
            summaries: summarises.then(|| batch.summaries()),
            stuck,
            tokens_per_second: batch.sampled_tokens() as f64 / seconds,
            preemptions: cache.preemptions,
            recomputed_tokens: cache.recomputed_tokens,
            cache_bytes: cache.peak_bytes,
            rollout_seconds: seconds,
            update_seconds: made.seconds,
            resident_bytes: resident_memory(),
            device_bytes: memory_in_use(device),
            summary,
        }
    }

    /// What is shown of it as step number `step`.
    pub(super) fn seen(&self, step: u64) -> StepSummary {
        let EpisodeSummary { reward, valid, median, bronze, silver, gold, .. } = self.summary;
        StepSummary {
            step,
            reward,
            valid,
            tiers: [median, bronze, silver, gold],
            tokens_per_second: self.tokens_per_second,
            memory: [self.resident_bytes, self.device_bytes],
        }
    }
}

impl EpisodeSummary {
    /// Sums up graded episodes; `faults` more broke. `weights` are those of their rewards.
    pub(super) fn from_trajectories(
        trajectories: &[Trajectory],
        faults: usize,
        weights: &RewardWeights,
    ) -> Self {
        let row = EvaluationRow::from_trajectories("policy", trajectories, faults);
        let n = trajectories.len().max(1) as f64;
        let mean =
            |value: &dyn Fn(&Trajectory) -> f64| trajectories.iter().map(value).sum::<f64>() / n;
        let ended = |ending: EpisodeEnding| {
            mean(&|trajectory| f64::from(u8::from(trajectory.ending == ending)))
        };
        let scores: Vec<f64> = trajectories
            .iter()
            .filter_map(Trajectory::verdict)
            .map(|verdict| verdict.score)
            .collect();
        let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
        Self {
            reward: row.reward,
            score,
            reward_format: mean(&|trajectory| trajectory.reward.format),
            reward_execution: mean(&|trajectory| trajectory.reward.execution),
            reward_tier: mean(&|trajectory| trajectory.reward.tier),
            reward_beyond: (weights.beyond > 0.0)
                .then(|| mean(&|trajectory| trajectory.reward.beyond)),
            valid: row.valid,
            median: row.median,
            bronze: row.bronze,
            silver: row.silver,
            gold: row.gold,
            turns: row.turns,
            answered: ended(EpisodeEnding::Answered),
            out_of_tokens: ended(EpisodeEnding::Tokens),
            tokens: mean(&|trajectory| trajectory.ids().len() as f64),
            episodes: row.episodes,
            faults,
        }
    }
}
