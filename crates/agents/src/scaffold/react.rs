//! The ReAct loop, inverted: the caller, which produces the text of each turn (a scripted agent, a
//! batch of sampled rows, a remote model), calls [`Play::respond`] and gets back what to show next.
//! The caller keeps the conversation; the session keeps the episode and its record.

use crate::grammar::{ToolCallFormat, Turn};
use crate::play::{Closed, Play, Reply, World};
use crate::prompt::{Prompt, PromptError, PromptStyle};
use crate::reward::{RewardWeights, reward};
use crate::script_cache::task_key;
use crate::trajectory::{EpisodeEnding, EpisodeOutcome, Tool, Trajectory, TurnRecord};
use jail::exec::{Fault, Outcome};
use sandbox::env::{Action, Episode, EpisodeConfig, EpisodeFault, Feedback, TaskSuite};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tasks::task::{Task, TaskId};
use tasks::thresholds::BeyondGold;

/// The rules that all agents of one run play by. Serialised into configs and reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EpisodeRules {
    /// How much of the task the prompt contains.
    pub prompt: PromptStyle,
    /// How turns write their tool calls.
    #[serde(skip_serializing_if = "ToolCallFormat::is_default")]
    #[schemars(!skip_serializing_if)]
    pub tool_call_format: ToolCallFormat,
    /// Tools, limits and feedback.
    pub episode: EpisodeConfig,
    /// What the outcome is worth.
    pub reward: RewardWeights,
}

impl Default for EpisodeRules {
    fn default() -> Self {
        Self {
            prompt: PromptStyle::Full,
            tool_call_format: ToolCallFormat::default(),
            episode: EpisodeConfig::default(),
            reward: RewardWeights::DENSE,
        }
    }
}

/// MLE tasks as an environment: every task of a suite, under one set of rules.
#[derive(Debug, Clone, Copy)]
pub struct MleWorld<'a> {
    /// The tasks, their sandbox and their graders.
    pub suite: &'a TaskSuite,
    /// The rules of every episode.
    pub rules: &'a EpisodeRules,
}

impl World for MleWorld<'_> {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        let unknown = || PromptError::UnknownTask(item.clone());
        let task = self.suite.task(item).ok_or_else(unknown)?;
        let EpisodeRules { prompt, tool_call_format, episode, .. } = self.rules;
        Prompt::new(task, *prompt, *tool_call_format, episode.mode)
    }

    fn wall_limit(&self) -> Duration {
        Duration::from_secs(self.rules.episode.budget.wall_seconds)
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play>, EpisodeFault> {
        let unknown = || EpisodeFault::Execution(Fault::UnknownTask(item.clone()));
        let task = self.suite.task(item).ok_or_else(unknown)?;
        Ok(Box::new(Session::open(self.suite, task, self.rules)?))
    }

    fn cache_key(&self, item: &TaskId) -> Option<String> {
        let rules = serde_json::to_string(self.rules).ok()?;
        Some(format!("{} {rules}", task_key(self.suite.task(item)?)))
    }

    fn turn_cache_key(&self, text: &str) -> String {
        turn_key(&self.rules.tool_call_format.parse(text))
    }
}

/// A turn without the words of its thought, which nothing follows from. That there is one earns the
/// format reward.
pub(crate) fn turn_key(turn: &Turn) -> String {
    let action = serde_json::to_string(&turn.action).expect("an action is plain text");
    format!("{} {action}", turn.has_thought)
}

/// An episode on an MLE task in conversation form.
#[derive(Debug)]
pub struct Session {
    format: ToolCallFormat,
    feedback: Feedback,
    weights: RewardWeights,
    /// The way above gold, if the task's ceiling is known.
    way: Option<BeyondGold>,
    episode: Episode,
    turns: Vec<TurnRecord>,
    timed_out: bool,
    /// Whether the last reply follows from the turns alone.
    is_repeatable: bool,
}

impl Session {
    /// Starts an episode on `task`.
    ///
    /// # Errors
    /// An [`EpisodeFault`].
    pub fn open(
        suite: &TaskSuite,
        task: &Task,
        rules: &EpisodeRules,
    ) -> Result<Self, EpisodeFault> {
        Ok(Self {
            format: rules.tool_call_format,
            feedback: rules.episode.feedback,
            weights: rules.reward,
            way: task.beyond_gold(),
            episode: suite.reset(task, &rules.episode)?,
            turns: Vec::new(),
            timed_out: false,
            is_repeatable: false,
        })
    }
}

impl Play for Session {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        let turn = self.format.parse(text);
        let step = self.episode.step(&turn.action)?;
        self.timed_out |= matches!(step.outcome, Some(Outcome::TimedOut));
        let record = TurnRecord {
            tool: Tool::of(&turn.action),
            has_thought: turn.has_thought,
            outcome: step.outcome,
            seconds: step.wall.as_secs_f64(),
            cached: false,
        };
        self.is_repeatable = record.ended_by_itself() && !step.depends_on_time;
        self.turns.push(record);
        Ok(match (&turn.action, step.done) {
            (Action::Answer, _) => Reply::End(EpisodeEnding::Answered),
            (_, true) => Reply::End(EpisodeEnding::Budget),
            (_, false) => Reply::Observe(step.observation.text),
        })
    }

    fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    fn is_repeatable(&self) -> bool {
        self.is_repeatable
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        let finish = self.episode.close()?;
        let format_share = Trajectory::format_share(&self.turns);
        Ok(Closed {
            reward: reward(&self.weights, format_share, finish.grade.as_ref(), self.way.as_ref()),
            turns: self.turns,
            timed_out: self.timed_out,
            feedback: Some(self.feedback),
            outcome: EpisodeOutcome::Mle(finish),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar;

    #[test]
    fn turn_key_is_of_the_action_and_whether_there_is_a_thought() {
        let key = |text: &str| turn_key(&grammar::parse(text));
        let script = key(&grammar::python_turn("a forest", "print(1)"));
        assert_eq!(key(&grammar::python_turn("other words", "print(1)")), script);
        let others = [
            grammar::python_turn("", "print(1)"),
            grammar::python_turn("a forest", "print(2)"),
            grammar::score_turn("a forest"),
            grammar::answer_turn("a forest"),
            "<tool_call>".to_owned(),
            "neither".to_owned(),
        ];
        let mut keys: Vec<String> = others.iter().map(|text| key(text)).collect();
        keys.push(script);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 1, "{keys:?}");
    }

    #[test]
    fn format_of_calls_is_written_only_where_it_is_not_the_default() {
        let rules = EpisodeRules::default();
        assert!(!serde_json::to_string(&rules).unwrap().contains("tool_call_format"));
        let hermes = EpisodeRules { tool_call_format: ToolCallFormat::Hermes, ..rules };
        let text = serde_json::to_string(&hermes).unwrap();
        assert!(text.contains("\"tool_call_format\":\"hermes\""), "{text}");
        assert_eq!(serde_json::from_str::<EpisodeRules>(&text).unwrap(), hermes);
    }
}
