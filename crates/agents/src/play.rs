//! The interface between a rollout and any environment.
//!
//! `item -> prompt -> (turn -> reply)* -> outcome, reward`. Episodes on MLE tasks are the first
//! implementation: [`MleWorld`](crate::scaffold::react::MleWorld).

pub use sandbox::env::EpisodeFault;

use crate::prompt::{Prompt, PromptError};
use crate::reward::Reward;
use crate::trajectory::{
    EnvironmentVerdict, EpisodeEnding, EpisodeOutcome, Guidance, Omission, Segment, Summary,
    TRAJECTORY_VERSION, Trajectory, TurnRecord,
};
use sandbox::env::Feedback;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::time::Duration;
use tasks::task::TaskId;

/// An environment: items, and episodes on them.
pub trait World: Debug + Sync {
    /// The messages that open an episode on `item`.
    ///
    /// # Errors
    /// [`PromptError`] if there is no such item, or it cannot be described.
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError>;

    /// Wall time that an episode may take, generation included.
    fn wall_limit(&self) -> Duration;

    /// Starts an episode on `item`.
    ///
    /// # Errors
    /// An [`EpisodeFault`].
    fn open(&self, item: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault>;

    /// All that the replies of an episode on `item` follow from besides its turns, as text: the
    /// task's files, the limits and the rules. `None`, which is the default, for episodes whose
    /// replies must not be cached ([`CachedWorld`](crate::script_cache::CachedWorld)).
    fn cache_key(&self, _item: &TaskId) -> Option<String> {
        None
    }

    /// The part of a turn that replies, records and rewards follow from. By default the whole text.
    fn turn_cache_key(&self, text: &str) -> String {
        text.to_owned()
    }
}

/// An episode in conversation form. The caller keeps the conversation and its token ids; the
/// episode keeps the state of the environment and the record of the turns.
pub trait Play: Debug + Send {
    /// Carries out one turn of the agent.
    ///
    /// # Errors
    /// An [`EpisodeFault`]. The trajectory must then be dropped, not graded.
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault>;

    /// The turns so far.
    fn turns(&self) -> &[TurnRecord];

    /// Whether the last reply follows from the turns alone, so that the same turns would get it
    /// again: no clock, limit or signal had a part in it. By default `false`, and the reply is not
    /// cached.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// Ends the episode and grades it.
    ///
    /// # Errors
    /// An [`EpisodeFault`].
    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault>;
}

/// What follows a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// The observation to show to the agent, which goes on.
    Observe(String),
    /// The episode is over.
    End(EpisodeEnding),
}

/// What an environment returns when an episode has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closed {
    /// One entry per turn of the agent.
    pub turns: Vec<TurnRecord>,
    /// Whether a script hit its time limit.
    pub timed_out: bool,
    /// The feedback mode of the tool `Score`, where the environment has it.
    pub feedback: Option<Feedback>,
    /// The environment's result of the episode.
    pub outcome: EpisodeOutcome,
    /// The reward, in its parts.
    pub reward: Reward,
}

/// Which episode a trajectory is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpisodeKey<'a> {
    /// Name of the task that was played.
    pub task: &'a TaskId,
    /// Name of the agent, such as `scripted/forest`.
    pub agent: &'a str,
    /// Which of the agent's attempts at this task.
    pub number: u64,
}

/// The agent's side of an episode that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// In order and in full.
    pub segments: Vec<Segment>,
    /// What of it the agent did not see any more, and from when on.
    pub omissions: Vec<Omission>,
    /// Advice of people, in the order of delivery; `None` of an episode in which nobody could advise.
    pub guidance: Option<Vec<Guidance>>,
    /// Summaries that the agent wrote of it.
    pub summaries: Vec<Summary>,
    /// Why the conversation ended.
    pub ending: EpisodeEnding,
}

impl Closed {
    /// The end of an episode in an environment other than an MLE task. Its whole reward is earned
    /// by the result, so it is the part `tier`.
    pub fn of_world(turns: Vec<TurnRecord>, verdict: EnvironmentVerdict) -> Self {
        let reward = Reward { format: 0.0, execution: 0.0, tier: verdict.reward, beyond: 0.0 };
        Self {
            turns,
            timed_out: false,
            feedback: None,
            outcome: EpisodeOutcome::World(verdict),
            reward,
        }
    }

    /// The trajectory of the episode.
    pub fn trajectory(self, attempt: EpisodeKey<'_>, conversation: Conversation) -> Trajectory {
        Trajectory {
            version: TRAJECTORY_VERSION,
            task: attempt.task.clone(),
            agent: attempt.agent.to_owned(),
            attempt: attempt.number,
            feedback: self.feedback,
            segments: conversation.segments,
            omissions: conversation.omissions,
            guided: conversation.guidance.is_some(),
            guidance: conversation.guidance.unwrap_or_default(),
            summaries: conversation.summaries,
            turns: self.turns,
            ending: conversation.ending,
            timed_out: self.timed_out,
            outcome: self.outcome,
            reward: self.reward,
        }
    }
}
