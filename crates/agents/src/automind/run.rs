//! Carries out a run of `AutoMind`.

use super::settings::AutoMindSettings;
use super::step::AutoMindRun;
use crate::run::agent::{AgentRest, AgentRun, AgentRunError};
use crate::run::knowledge::{KnowledgeFacts, ReadyKnowledge};
use crate::search::decide::{Decisions, StepRules};
use serde_json::json;

/// Share of a script's time limit that must be left for a step to begin.
const LEAST: f64 = 0.1;

/// A run of `AutoMind` on one task.
#[derive(Debug, Clone, Copy)]
pub struct AutoMind<'a> {
    /// Task, player, knowledge, seed and folder.
    pub run: AgentRun<'a>,
    /// What is tried, and how it is asked for.
    pub settings: &'a AutoMindSettings,
}

impl AutoMind<'_> {
    /// Begins the run, or goes on with it, until it is over or has to pause.
    ///
    /// # Errors
    /// [`AgentRunError`].
    pub fn run(&self) -> Result<AgentRest, AgentRunError> {
        let AutoMindSettings {
            policy, tricks, steps, calls, seconds, workers, most_refused, ..
        } = self.settings;
        let ready = self.ready()?;
        let settings = json!({ "automind": self.settings });
        let taken = self.run.take_up_with(settings, |blobs| {
            let json = serde_json::to_vec(&ready).expect("texts");
            Ok(Some(KnowledgeFacts {
                hash: ready.hash.clone(),
                selection: tricks.knowledge,
                tricks: ready.tricks.iter().map(|trick| trick.id.clone()).collect(),
                ready: blobs.put(&json)?,
            }))
        })?;
        let seconds = *seconds as f64;
        let least = LEAST * self.run.config.policy.time_limit.0.as_secs_f64();
        let rules = StepRules {
            steps: *steps,
            seconds,
            last_start: (seconds - least).max(0.0),
            workers: *workers,
            most_refused: *most_refused,
            calls: *calls,
        };
        let maker = |open| AutoMindRun { settings: self.settings, ready: &ready, open };
        Decisions { run: self.run, policy, rules }.carry_out(taken, maker)
    }

    /// Tricks that stand ready for the task.
    fn ready(&self) -> Result<ReadyKnowledge, AgentRunError> {
        let AgentRun { task, knowledge, seed, .. } = self.run;
        let tricks = &self.settings.tricks;
        knowledge
            .ready(task, tricks.knowledge, tricks.ready, seed)
            .map_err(AgentRunError::Knowledge)
    }
}
