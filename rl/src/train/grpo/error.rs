//! Errors that end a run of `rl train`.

use super::gaps::{LOG_PROB_GAP, MEAN_GAP};
use super::stuck::StuckError;
use crate::checkpoint::CheckpointError;
use crate::checkpoint::policy::PolicyError;
use crate::generate::engine::EngineError;
use crate::rollout::RolloutError;
use crate::text::template::TemplateError;
use crate::train::learner::LearnerError;
use crate::world::WorldError;
use agents::prompt::PromptError;
use agents::remote::RemoteError;
use agents::script_cache::ScriptCacheError;
use agents::search::samples::SearchReadError;
use sandbox::env::SuiteError;
use sandbox::reward::NoCeiling;
use tasks::task::TaskId;

/// Errors that end a run of `rl train`.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// No place to play.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The task of a suite cannot be used.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The servers of `rollout.sandboxes` cannot be used.
    #[error(transparent)]
    Fleet(#[from] RemoteError),
    /// Questions of searches are answered on this machine alone.
    #[error(
        "`--searches` trains on questions whose scripts run on this machine; leave out \
         `rollout.sandboxes` (`--sandboxes`)"
    )]
    SearchesOnFleet,
    /// The folder of the script cache cannot be used.
    #[error(transparent)]
    ScriptCache(#[from] ScriptCacheError),
    /// The reward's weights do not fit a task.
    #[error(transparent)]
    Reward(#[from] NoCeiling),
    /// Searches could not be read.
    #[error(transparent)]
    Searches(#[from] SearchReadError),
    /// The chat template cannot render questions.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A question cannot be asked.
    #[error("the question `{id}` cannot be asked")]
    Question {
        /// Its name.
        id: TaskId,
        /// Why.
        #[source]
        source: PromptError,
    },
    /// No question to train on.
    #[error(
        "the searches have no question for a training task of the corpus with at most {room} \
         tokens ({too_long} are longer); give searches on its training tasks, or raise \
         `rollout.max_model_len`"
    )]
    NoQuestions {
        /// Questions that are too long.
        too_long: usize,
        /// The most tokens of a question.
        room: usize,
    },
    /// Validation without anything to validate on.
    #[error(
        "the searches have no question for a held-out task; give some, or set `validate_every=0`"
    )]
    NothingHeldOut,
    /// Episodes could not be played.
    #[error(transparent)]
    Rollout(#[from] RolloutError),
    /// Groups that are stuck cannot be guided.
    #[error(transparent)]
    Stuck(#[from] StuckError),
    /// Every episode of a step broke.
    #[error("every episode of step {step} broke; the last error: {last}")]
    AllFaulted {
        /// The step, counted from 1.
        step: u64,
        /// The last error.
        last: String,
    },
    /// Every episode of a validation broke.
    #[error("every held-out episode broke after step {step}; the last error: {last}")]
    ValidationFaulted {
        /// The updates made before.
        step: u64,
        /// The last error.
        last: String,
    },
    /// Episodes went missing between rollout and update.
    #[error(
        "self-check failed: of the episodes of step {step} not every one is accounted for once: {episode_counts}"
    )]
    Unaccounted {
        /// The step, counted from 1.
        step: u64,
        /// The counts of the step's episodes.
        episode_counts: String,
    },
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The update could not be made.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// Weights could not be handed to the generator.
    #[error(transparent)]
    Generator(#[from] EngineError),
    /// A file of the run could not be written.
    #[error("failed to write the run's files")]
    Io(#[from] std::io::Error),
    /// What of an episode is trained on is not what the verdicts on its turns say.
    #[error(
        "self-check failed on task `{task}`: the loss mask of token {token} is not what the verdicts on \
         turns say; this is a bug"
    )]
    CreditMask {
        /// The task of the trajectory.
        task: TaskId,
        /// The token, from 0.
        token: usize,
    },
    /// What is trained on is not what was sampled.
    #[error(
        "self-check failed on task `{task}`: the trainer's tokens are not those that the engine saw"
    )]
    OtherTokens {
        /// The task of the trajectory.
        task: TaskId,
    },
    /// The mask does not cover exactly what was sampled.
    #[error("self-check failed: {trained} tokens are trained on, {sampled} were sampled")]
    MaskSum {
        /// Tokens under the mask.
        trained: usize,
        /// Log-probabilities that the sampler kept.
        sampled: usize,
    },
    /// Sampler and trainer disagree by more than rounding.
    #[error(
        "self-check failed: log-probabilities of sampler and trainer differ by {gap:.3} in the mean, more than {MEAN_GAP}; rounding does not explain that, so one of them has other weights, another temperature or another template"
    )]
    MeanGap {
        /// The mean difference, in nats.
        gap: f64,
    },
    /// Sampler and trainer disagree.
    #[error(
        "self-check failed: log-probabilities of sampler and trainer differ by up to {gap:e}, more than {LOG_PROB_GAP:e}; if that is meant to be so, `tis_cap=2` corrects for it"
    )]
    Gap {
        /// The largest difference, in nats.
        gap: f64,
    },
}

impl TrainError {
    /// Whether turns could not be sampled, or not be trusted: nothing is said against the weights,
    /// which can be saved.
    pub(super) fn leaves_weights_as_they_were(&self) -> bool {
        matches!(
            self,
            Self::Generator(_)
                | Self::Rollout(RolloutError::Engine(_) | RolloutError::Version { .. })
                | Self::MeanGap { .. }
        )
    }
}
