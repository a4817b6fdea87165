//! Why a rollout failed.

use crate::generate::engine::EngineError;
use crate::text::template::TemplateError;
use crate::text::tokenizer::TokenizerError;
use agents::guide::guided_run::Interrupted;
use agents::prompt::PromptError;
use agents::trajectory::TrajectoryError;
use tasks::task::TaskId;

/// Why a rollout failed.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// The prompt of a task could not be written.
    #[error("failed to write the prompt of task `{task}`")]
    Prompt {
        /// The task whose prompt it is.
        task: TaskId,
        /// The error of the prompt.
        #[source]
        source: PromptError,
    },
    /// A prompt does not fit into the context.
    #[error(
        "failed to start an episode on task `{task}`; raise `rollout.max_model_len`, or use the brief prompt"
    )]
    Admit {
        /// The task whose prompt it is.
        task: TaskId,
        /// The error of the engine.
        #[source]
        source: EngineError,
    },
    /// The engine failed to generate a turn.
    #[error("failed to generate")]
    Engine(#[from] EngineError),
    /// The chat template cannot be applied.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// Text could not be encoded, or tokens not decoded.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The caller could not store an episode.
    #[error(transparent)]
    Store(#[from] TrajectoryError),
    /// No name for the conversation of a guided episode.
    #[error("failed to name a conversation")]
    Name(#[source] std::io::Error),
    /// There is no guide, and episodes are not to go on without.
    #[error("an episode on task `{task}` cannot go on")]
    Guide {
        /// The task of the episode.
        task: TaskId,
        /// Why not.
        #[source]
        source: Interrupted,
    },
    /// The user asked the run to stop.
    #[error("stopped on request")]
    Stopped,
    /// Weights changed during a rollout.
    #[error(
        "a turn was sampled with version {found} of the weights, and the rollout began with version {expected}"
    )]
    Version {
        /// The version when the rollout began.
        expected: u64,
        /// The version that a turn was sampled with.
        found: u64,
    },
    /// A worker thread panicked.
    #[error("a worker panicked while playing task `{0}`; this is a bug")]
    Worker(TaskId),
}
