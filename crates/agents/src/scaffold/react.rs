//! The ReAct loop, turned inside out: whoever produces the text of a turn (a scripted agent, a
//! batch of sampled rows, a remote model) calls [`Session::respond`] and gets back what to
//! show next. The caller owns token ids; the session owns the episode and the record.

use crate::grammar;
use crate::prompt::PromptStyle;
use crate::reward::{RewardWeights, reward};
use crate::trajectory::{Ending, Segment, TRAJECTORY_VERSION, Trajectory, TurnRecord};
use jail::exec::{Outcome, Sandbox};
use sandbox::env::{Action, Episode, EpisodeConfig, EpisodeFault, Feedback};
use serde::{Deserialize, Serialize};
use tasks::grade::Grader;
use tasks::task::{Task, TaskDir, TaskId};

/// The rules that all agents of one run play by. Serialised into configs and reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// How much of the task the prompt tells.
    pub prompt: PromptStyle,
    /// Tools, limits and feedback.
    pub episode: EpisodeConfig,
    /// What the outcome is worth.
    pub reward: RewardWeights,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            prompt: PromptStyle::Full,
            episode: EpisodeConfig::default(),
            reward: RewardWeights::DENSE,
        }
    }
}

/// What follows a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Show this to the agent and let it go on.
    Observe(String),
    /// The episode is over.
    End(Ending),
}

/// An episode in conversation form.
#[derive(Debug)]
pub struct Session {
    task: TaskId,
    feedback: Feedback,
    weights: RewardWeights,
    episode: Episode,
    turns: Vec<TurnRecord>,
    timed_out: bool,
}

impl Session {
    /// Starts an episode on `task`.
    ///
    /// # Errors
    /// An [`EpisodeFault`].
    pub fn open(sandbox: &Sandbox, task: &TaskDir, rules: &Rules) -> Result<Self, EpisodeFault> {
        let judge = Grader::open(task).map_err(EpisodeFault::Answers)?;
        Ok(Self {
            task: task.id().clone(),
            feedback: rules.episode.feedback,
            weights: rules.reward,
            episode: Episode::reset(sandbox, &Task::from(task), Box::new(judge), &rules.episode)?,
            turns: Vec::new(),
            timed_out: false,
        })
    }

    /// Takes the text of one turn and carries it out.
    ///
    /// # Errors
    /// An [`EpisodeFault`]. The trajectory must then be dropped, not graded.
    pub fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        let turn = grammar::parse(text);
        let step = self.episode.step(&turn.action)?;
        self.timed_out |= matches!(step.outcome, Some(Outcome::TimedOut));
        self.turns.push(TurnRecord {
            tool: tool_name(&turn.action).to_owned(),
            has_thought: turn.has_thought,
            outcome: step.outcome.map(|outcome| outcome.to_string()),
            seconds: step.wall.as_secs_f64(),
        });
        Ok(match (&turn.action, step.done) {
            (Action::Answer, _) => Reply::End(Ending::Answered),
            (_, true) => Reply::End(Ending::Budget),
            (_, false) => Reply::Observe(step.observation.text),
        })
    }

    /// The turns so far.
    pub fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    /// Grades the episode and completes its record with the conversation that the caller kept.
    ///
    /// # Errors
    /// An [`EpisodeFault`].
    pub fn close(
        self,
        agent: &str,
        attempt: u64,
        segments: Vec<Segment>,
        ending: Ending,
    ) -> Result<Trajectory, EpisodeFault> {
        let finish = self.episode.close()?;
        let format_share = Trajectory::format_share(&self.turns);
        Ok(Trajectory {
            version: TRAJECTORY_VERSION,
            task: self.task,
            agent: agent.to_owned(),
            attempt,
            feedback: self.feedback,
            segments,
            omissions: Vec::new(),
            reward: reward(&self.weights, format_share, finish.grade.as_ref()),
            turns: self.turns,
            ending,
            timed_out: self.timed_out,
            finish,
        })
    }
}

fn tool_name(action: &Action) -> &'static str {
    match action {
        Action::Python { .. } => "python",
        Action::Score => "score",
        Action::Answer => "answer",
        Action::Malformed { .. } => "malformed",
    }
}
