//! The result of a rollout: each episode's trajectory, or the fault that ended it.

use crate::generate::engine::CacheUse;
use agents::guide::ids::ConversationId;
use agents::trajectory::Trajectory;
use sandbox::env::EpisodeFault;
use tasks::task::TaskId;

/// The result of one episode.
#[derive(Debug)]
pub enum RolloutResult {
    /// The episode ended: its trajectory, and all its tokens as the engine saw them.
    Finished {
        /// The trajectory with its reward.
        trajectory: Box<Trajectory>,
        /// All token ids that the engine saw, in order. Where the conversation was summarised, those
        /// before each summary, of each summary and after the last one, in this order.
        contexts: Vec<Vec<i64>>,
    },
    /// An infrastructure error ended the episode. It has no reward.
    Fault {
        /// The task of the episode.
        task: TaskId,
        /// The infrastructure error.
        fault: EpisodeFault,
    },
}

impl RolloutResult {
    /// The trajectory of an episode that ended.
    ///
    /// # Errors
    /// The fault, if an infrastructure error ended the episode.
    pub fn trajectory(&self) -> Result<&Trajectory, &EpisodeFault> {
        match self {
            Self::Finished { trajectory, .. } => Ok(trajectory),
            Self::Fault { fault, .. } => Err(fault),
        }
    }
}

/// The results of all jobs.
#[derive(Debug)]
pub struct Rollout {
    /// The result of each job, in the order of the jobs.
    pub played: Vec<RolloutResult>,
    /// The name of each job's conversation with people, in the same order; `None` of an unguided one.
    pub conversations: Vec<Option<ConversationId>>,
    /// The statistics of the engine's KV cache.
    pub cache: CacheUse,
}
