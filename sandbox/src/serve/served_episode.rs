//! An episode as a client sees it: calls of tools in, observations and rewards out. Its functions
//! block.

use super::metrics::{EpisodeOutcome, OpenEpisode, ServeMetrics};
use super::protocol::ServerReply;
use super::reveal::Reveal;
use super::reward::{feedback_value, revealed_value};
use super::server::ServerState;
use super::task_choice::{ChosenTask, split_name};
use super::tools::{Call, ToolFault, tool_answer};
use crate::env::{
    Action, CloseReason, EpisodeFault, RecordError, Recorded, Reservation, StepResult,
};
use crate::reward::RewardWeights;
use jail::exec::Cancel;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tasks::task::TaskId;
use tasks::thresholds::BeyondGold;

/// An episode in progress, or at its end.
#[derive(Debug)]
pub(super) struct ServedEpisode {
    task: TaskId,
    name: String,
    /// `None` after the end of the episode.
    episode: Option<Recorded>,
    /// `None` after the end of the episode.
    open: Option<OpenEpisode>,
    turns: u32,
    turns_allowed: u32,
    began: Instant,
    wall: Duration,
    cancel: Cancel,
    reveal: Reveal,
    weights: RewardWeights,
    /// The way above gold, if the task's ceiling is known.
    way: Option<BeyondGold>,
    /// The sum of the rewards so far.
    paid: f64,
}

impl ServedEpisode {
    /// Begins an episode; also returns the first observation, with the task's description.
    pub(super) fn start(
        shared: &ServerState,
        chosen: &ChosenTask,
        reservation: Reservation,
    ) -> Result<(Self, ServerReply), EpisodeFault> {
        let ChosenTask { task, label, file, ignored } = chosen;
        let config = &shared.config;
        let path = config.records.join(task.id().as_str()).join(format!("{file}.jsonl"));
        let description = task.description().map_err(EpisodeFault::Description)?;
        let (suite, rules) = (&shared.suite, &config.episode);
        let mut episode = Recorded::reset_within(suite, task, rules, label, &path, reservation)?;
        let cancel = episode.cancel()?;
        let about = json!({
            "task": task.id(),
            "split": task.split().map(split_name),
            "ignored": ignored,
            "description": description,
            "feedback": config.episode.feedback,
            "reveal": config.reveal,
            "mode": config.episode.mode,
            "turns": config.episode.budget.turns,
            "step_limit": config.episode.policy.time_limit,
            "episode_limit": format!("{}s", config.episode.budget.wall_seconds),
        });
        // Some clients read the whole observation, others only its metadata.
        let mut observation = about.clone();
        observation["metadata"] = about;
        // For programs that check whether an episode here is one that they would play themselves.
        let metadata = &mut observation["metadata"];
        metadata["rules"] = json!(config.episode);
        metadata["answer_limit"] = json!(config.limits.answer);
        metadata["public_hash"] = json!(task.public_hash());
        let player = Self {
            task: task.id().clone(),
            name: label.episode.clone(),
            episode: Some(episode),
            open: Some(shared.metrics.begin_episode()),
            turns: 0,
            turns_allowed: config.episode.budget.turns,
            began: Instant::now(),
            wall: Duration::from_secs(config.episode.budget.wall_seconds),
            cancel,
            reveal: config.reveal,
            weights: config.reward,
            way: task.beyond_gold(),
            paid: 0.0,
        };
        Ok((player, ServerReply { observation, reward: None, done: false }))
    }

    /// Whether the episode has ended.
    pub(super) fn is_over(&self) -> bool {
        self.episode.is_none()
    }

    /// Whether its wall time has been over for `grace`. Its next step would end it; a client that
    /// takes none, and asks for its state instead, would keep it for ever.
    pub(super) fn is_overdue(&self, grace: Duration) -> bool {
        self.began.elapsed() >= self.wall + grace
    }

    /// A handle that ends a script in flight.
    pub(super) fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// Calls a tool, or carries out an action. An invalid call counts as a turn too.
    pub(super) fn call(
        &mut self,
        call: &Call,
        metrics: &ServeMetrics,
    ) -> Result<ServerReply, EpisodeFault> {
        let Some(episode) = &mut self.episode else { return Err(EpisodeFault::Over) };
        let tool = call.name();
        let (action, fault) = match call.action() {
            Ok(action) => (action, None),
            Err((kind, reason)) => {
                (Action::Malformed { reason: reason.clone() }, Some((kind, reason)))
            }
        };
        let step = match episode.step(&action) {
            Err(EpisodeFault::Record(full @ RecordError::Full { .. })) => {
                let metadata = json!({"turn": self.turns, "turns_left": self.turns_left()});
                let message = full.to_string();
                let fault = Some((ToolFault::ExecutionError, message.as_str()));
                let observation = tool_answer(tool, "", fault, &metadata);
                return Ok(ServerReply { observation, reward: Some(0.0), done: false });
            }
            step => step?,
        };
        metrics.count_step(step.outcome.as_ref().map(|outcome| (outcome, step.wall)));
        self.turns = episode.turns();
        let mut reward = step
            .feedback
            .as_ref()
            .map_or(0.0, |feedback| feedback_value(&self.weights, feedback) - self.paid);
        let mut text = step.observation.text.clone();
        let mut metadata = self.metadata(&step);
        if step.done {
            let finish = match self.episode.take() {
                Some(episode) => episode.close()?,
                None => return Err(EpisodeFault::Over),
            };
            if let Some(open) = self.open.take() {
                open.end(EpisodeOutcome::Graded);
            }
            reward =
                revealed_value(&self.weights, &finish, self.way.as_ref(), self.reveal) - self.paid;
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(match action {
                Action::Answer => "submitted; the episode is over",
                _ => "the budget is used up; the episode is over",
            });
            metadata["finish"] = json!(self.reveal.apply(&finish));
        }
        self.paid += reward;
        let fault = fault.as_ref().map(|(kind, reason)| (*kind, reason.as_str()));
        let observation = tool_answer(tool, &text, fault, &metadata);
        Ok(ServerReply { observation, reward: Some(reward), done: step.done })
    }

    /// Ends the episode without a grade, if it has not ended yet.
    pub(super) fn abandon(mut self, ending: CloseReason) {
        if let Some(open) = self.open.take() {
            open.end(EpisodeOutcome::Left(ending));
        }
        if let Some(episode) = self.episode
            && let Err(fault) = episode.abandon(ending)
        {
            tracing::error!(task = %self.task, fault = &fault as &dyn std::error::Error, "an episode's end was not recorded");
        }
    }

    /// The reply to a `state` request.
    pub(super) fn state(&self) -> Value {
        json!({
            "episode_id": self.name,
            "step_count": self.turns,
            "task": self.task,
            "turns_left": self.turns_left(),
            "done": self.is_over(),
            "reward": self.paid,
        })
    }

    fn turns_left(&self) -> u32 {
        self.turns_allowed.saturating_sub(self.turns)
    }

    fn metadata(&self, step: &StepResult) -> Value {
        json!({
            "turn": self.turns,
            "turns_left": self.turns_left(),
            "outcome": step.outcome,
            "seconds": step.wall.as_secs_f64(),
            "depends_on_time": step.depends_on_time,
        })
    }
}
