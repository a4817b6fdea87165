//! Carries out a run of `AutoMind`.

use super::settings::AutoMindSettings;
use super::step::AutoMindRun;
use super::tricks;
use crate::knowledge::{EmbedError, LeakError, TRICK_USES, TrickRecord};
use crate::run::agent::{AgentRest, AgentRun, AgentRunError, TakenUp};
use crate::run::ask_knowledge::JournalJobs;
use crate::run::journal::{JournalLine, journal_path, read_lines};
use crate::run::knowledge::{KnowledgeFacts, KnowledgeFault, ReadyKnowledge, WantedKnowledge};
use crate::run::open::OpenRun;
use crate::run::state::RunState;
use crate::search::decide::{Decisions, StepRules};
use crate::search::tree::Tree;
use serde_json::{Value, json};
use std::sync::Arc;
use tasks::files;

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

/// The knowledge of a run that was taken up, or how it came to rest before it had any.
type Known = Result<(TakenUp, ReadyKnowledge), AgentRest>;

impl AutoMind<'_> {
    /// Begins the run, or goes on with it, until it is over or has to pause.
    ///
    /// # Errors
    /// [`AgentRunError`].
    pub fn run(&self) -> Result<AgentRest, AgentRunError> {
        let AutoMindSettings { policy, steps, calls, seconds, workers, most_refused, .. } =
            self.settings;
        let settings = json!({ "automind": self.settings });
        let known = if self.settings.knowledge.asks() {
            self.known_by_asking(settings)?
        } else {
            self.known_at_once(settings)?
        };
        let (taken, ready) = match known {
            Ok(known) => known,
            Err(rest) => return Ok(rest),
        };
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
        let rest = Decisions { run: self.run, policy, rules }.carry_out(taken, maker)?;
        if matches!(rest, AgentRest::Finished { .. }) && !ready.tricks.is_empty() {
            self.write_uses(&ready)?;
        }
        Ok(rest)
    }

    /// Tricks that are found without a model stand in the journal's header.
    fn known_at_once(&self, settings: Value) -> Result<Known, AgentRunError> {
        let ready = match self.run.knowledge.find(&self.wanted()) {
            Ok(ready) => ready,
            Err(fault) => return not_found(fault).map(Err),
        };
        let taken = self.run.take_up_with(settings, |blobs| {
            let json = serde_json::to_vec(&ready).expect("texts");
            let selection = self.settings.tricks.knowledge;
            Ok(Some(KnowledgeFacts::new(&ready, selection, blobs.put(&json)?)))
        })?;
        Ok(Ok((taken, ready)))
    }

    /// Where a model is asked, the questions stand in the journal, and then what came of them. A run
    /// that goes on has the tricks that it had.
    fn known_by_asking(&self, settings: Value) -> Result<Known, AgentRunError> {
        let taken = self.run.take_up(settings.clone())?;
        if let Some(facts) = &taken.state.knowledge {
            let ready = ReadyKnowledge::recorded(facts, &taken.blobs)?;
            return Ok(Ok((taken, ready)));
        }
        let is_old = taken.is_old;
        let open = OpenRun::new(self.run, taken);
        let jobs = Arc::new(JournalJobs::new(&open));
        let wanted = WantedKnowledge { jobs: Some(jobs.clone()), ..self.wanted() };
        match self.run.knowledge.find(&wanted) {
            Ok(ready) => {
                let json = serde_json::to_vec(&ready).expect("texts");
                let selection = self.settings.tricks.knowledge;
                let facts = KnowledgeFacts::new(&ready, selection, open.blobs.put(&json)?);
                let clock = open.clock.now();
                open.append(&JournalLine::Knowledge { facts: Box::new(facts), clock })?;
                drop(wanted);
                drop(jobs);
                drop(open);
                // The journal is read anew, with the questions and what came of them.
                let taken = TakenUp { is_old, ..self.run.take_up(settings)? };
                Ok(Ok((taken, ready)))
            }
            Err(fault) => match jobs.undone() {
                Some(undone) => open.rest(undone).map(Err),
                None => not_found(fault).map(Err),
            },
        }
    }

    fn wanted(&self) -> WantedKnowledge<'_> {
        let AutoMindSettings { tricks, knowledge, .. } = self.settings;
        WantedKnowledge {
            task: self.run.task,
            selection: tricks.knowledge,
            most: tricks.ready,
            methods: tricks.drafts.uses_papers(),
            seed: self.run.seed,
            settings: *knowledge,
            jobs: None,
        }
    }

    /// Writes how the tricks of a run that is over fared, for runs that learn from it.
    fn write_uses(&self, ready: &ReadyKnowledge) -> Result<(), AgentRunError> {
        let path = journal_path(self.run.folder);
        let state = RunState::from_lines(&path, read_lines(&path)?)?;
        let tree = Tree::from_state(&state.expect("a run that is over has a header"));
        let uses = tricks::uses(&tree, ready, self.run.task.id(), self.run.view.direction);
        let lines = TrickRecord::new(uses).to_lines();
        files::write_atomic(&self.run.folder.join(TRICK_USES), lines.as_bytes())?;
        Ok(())
    }
}

/// A provider of vectors that does not answer lets a run wait; anything else ends it.
fn not_found(fault: KnowledgeFault) -> Result<AgentRest, AgentRunError> {
    let embed = match fault.downcast_ref::<LeakError>() {
        Some(LeakError::Embed(error)) => Some(error),
        _ => fault.downcast_ref::<EmbedError>(),
    };
    if let Some(EmbedError::Provider { .. }) = embed {
        return Ok(AgentRest::Paused { why: tasks::text::with_causes(&*fault) });
    }
    Err(AgentRunError::Knowledge(fault))
}
