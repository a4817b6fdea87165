//! Operators as an environment: an item is a question of a search, an episode is one answer.
//!
//! `question -> answer -> script -> trial -> grade of its submission -> reward`
//!
//! The reward is that of an episode on the task ([`reward`]): the script's submission is graded on
//! the test rows, as a training harness may, and a search may not. Its format part is earned by an
//! answer with one script in it.

use super::operator::read_script;
use super::samples::SearchAsk;
use crate::play::{Closed, Play, Reply, World};
use crate::prompt::{Prompt, PromptError};
use crate::reward::{RewardWeights, reward};
use crate::script_cache::task_key;
use crate::trajectory::{EpisodeEnding, EpisodeOutcome, Tool, TurnRecord};
use jail::exec::{Fault, Outcome};
use sandbox::env::{
    EpisodeConfig, EpisodeFault, EpisodeResult, TaskSuite, TrialResult, grade_submission,
    try_script,
};
use std::collections::BTreeMap;
use std::time::Duration;
use tasks::task::{Task, TaskId};

/// Questions of searches on the tasks of a suite.
#[derive(Debug)]
pub struct OperatorWorld<'a> {
    suite: &'a TaskSuite,
    /// Limits of scripts, and which rows count.
    config: &'a EpisodeConfig,
    weights: &'a RewardWeights,
    asks: BTreeMap<TaskId, (&'a Task, Prompt)>,
}

impl<'a> OperatorWorld<'a> {
    /// The questions among `asks` whose task is in `suite`, equal ones once.
    pub fn new(
        suite: &'a TaskSuite,
        config: &'a EpisodeConfig,
        weights: &'a RewardWeights,
        asks: &[SearchAsk],
    ) -> Self {
        let known = asks
            .iter()
            .filter_map(|ask| Some((ask.id.clone(), (suite.task(&ask.task)?, ask.prompt.clone()))));
        Self { suite, config, weights, asks: known.collect() }
    }

    /// Its items with the tasks that they are on, by name.
    pub fn items(&self) -> impl Iterator<Item = (&TaskId, &'a Task)> {
        self.asks.iter().map(|(id, (task, _))| (id, *task))
    }
}

impl World for OperatorWorld<'_> {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        let (_, prompt) =
            self.asks.get(item).ok_or_else(|| PromptError::UnknownTask(item.clone()))?;
        Ok(prompt.clone())
    }

    fn wall_limit(&self) -> Duration {
        Duration::from_secs(self.config.budget.wall_seconds)
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play>, EpisodeFault> {
        let unknown = || EpisodeFault::Execution(Fault::UnknownTask(item.clone()));
        let (task, _) = self.asks.get(item).ok_or_else(unknown)?;
        Ok(Box::new(OperatorPlay {
            suite: self.suite.clone(),
            task: (*task).clone(),
            config: self.config.clone(),
            weights: *self.weights,
            turns: Vec::new(),
            result: None,
        }))
    }

    fn cache_key(&self, item: &TaskId) -> Option<String> {
        let (task, _) = self.asks.get(item)?;
        let rules = serde_json::to_string(&(self.config, self.weights)).ok()?;
        Some(format!("{item} {} {rules}", task_key(task)))
    }
}

/// One answer to a question.
#[derive(Debug)]
struct OperatorPlay {
    suite: TaskSuite,
    task: Task,
    config: EpisodeConfig,
    weights: RewardWeights,
    turns: Vec<TurnRecord>,
    /// The grade of its submission.
    result: Option<EpisodeResult>,
}

impl Play for OperatorPlay {
    fn respond(&mut self, text: &str) -> Result<Reply, EpisodeFault> {
        let (turn, result) = match read_script(text) {
            Ok(proposal) => self.run(&proposal.code)?,
            Err(unreadable) => {
                let turn = TurnRecord {
                    tool: Tool::Malformed,
                    has_thought: false,
                    outcome: None,
                    seconds: 0.0,
                    cached: false,
                };
                (turn, EpisodeResult { grade: None, refusal: Some(unreadable.0) })
            }
        };
        self.turns.push(turn);
        self.result = Some(result);
        Ok(Reply::End(EpisodeEnding::Answered))
    }

    fn turns(&self) -> &[TurnRecord] {
        &self.turns
    }

    fn is_repeatable(&self) -> bool {
        self.turns.last().is_some_and(TurnRecord::ended_by_itself)
    }

    fn close(self: Box<Self>) -> Result<Closed, EpisodeFault> {
        let finish = self.result.unwrap_or(EpisodeResult { grade: None, refusal: None });
        let readable = self.turns.iter().any(|turn| turn.tool == Tool::Python);
        let timed_out =
            self.turns.iter().any(|turn| matches!(turn.outcome, Some(Outcome::TimedOut)));
        let format = if readable { 1.0 } else { 0.0 };
        let way = self.task.beyond_gold();
        Ok(Closed {
            reward: reward(&self.weights, format, finish.grade.as_ref(), way.as_ref()),
            turns: self.turns,
            timed_out,
            feedback: Some(self.config.feedback),
            outcome: EpisodeOutcome::Mle(finish),
        })
    }
}

impl OperatorPlay {
    fn run(&self, code: &str) -> Result<(TurnRecord, EpisodeResult), EpisodeFault> {
        let Self { suite, task, config, .. } = self;
        let limit = config.policy.time_limit.0;
        let TrialResult { run, submission, validity, .. } =
            try_script(suite, task, config, code, limit, &|_| ())?;
        let result = match (submission, validity) {
            (Some(csv), Ok(())) => match grade_submission(suite, task, config, &csv)? {
                Ok(grade) => EpisodeResult { grade: Some(grade), refusal: None },
                Err(refusal) => EpisodeResult { grade: None, refusal: Some(refusal) },
            },
            (_, validity) => EpisodeResult { grade: None, refusal: validity.err() },
        };
        let turn = TurnRecord {
            tool: Tool::Python,
            has_thought: true,
            outcome: Some(run.outcome),
            seconds: run.wall.as_secs_f64(),
            cached: false,
        };
        Ok((turn, result))
    }
}
