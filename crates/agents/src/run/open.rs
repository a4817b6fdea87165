//! A run that is being worked on: what its threads share, and how they ask the player.

use super::agent::{AgentRest, AgentRun, AgentRunError, TakenUp};
use super::journal::{AgentEnd, AskFacts, Blobs, Journal, JournalLine};
use super::node::NodeId;
use super::player::{Answer, Ask, Asked, PlayerFault};
use jail::exec::Fault;
use llm::{Finish, Usage};
use sandbox::env::EpisodeFault;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tasks::files;

/// Why something was not carried out.
pub(crate) enum Undone {
    Paused(String),
    Failed(AgentRunError),
}

impl<E: Into<AgentRunError>> From<E> for Undone {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// A fault, or a stop that was asked for.
pub(crate) fn undone(fault: EpisodeFault) -> Undone {
    match fault {
        EpisodeFault::Execution(Fault::Cancelled) => Undone::Paused("it was stopped".to_owned()),
        fault => Undone::Failed(fault.into()),
    }
}

/// Active time of a run, over all of its starts, in seconds.
pub(crate) struct RunClock {
    before: f64,
    started: Instant,
}

impl RunClock {
    /// Goes on from `before`.
    pub(crate) fn from_seconds(before: f64) -> Self {
        Self { before, started: Instant::now() }
    }

    pub(crate) fn now(&self) -> f64 {
        self.before + self.started.elapsed().as_secs_f64()
    }
}

/// What became of a question.
pub(crate) enum Given {
    Answer(Answer),
    Refused(String),
    TooLong(String),
}

/// What a question leaves out, because the context is full.
#[derive(Debug, Default)]
pub(crate) struct LeftOut {
    /// Parts of a prompt, by name.
    pub(crate) parts: Vec<String>,
    /// Earlier turns.
    pub(crate) turns: Vec<NodeId>,
}

/// What the threads of a run share.
pub(crate) struct OpenRun<'a> {
    pub(crate) run: AgentRun<'a>,
    journal: Mutex<Journal>,
    pub(crate) blobs: Blobs,
    pub(crate) clock: RunClock,
    /// Questions that were answered, over all starts.
    calls: AtomicUsize,
    /// Answers of earlier starts.
    asked: BTreeMap<(NodeId, Asked, u32), AskFacts>,
}

impl<'a> OpenRun<'a> {
    /// The run whose journal was taken up, from where its clock stood.
    pub(crate) fn new(run: AgentRun<'a>, taken: TakenUp) -> Self {
        let TakenUp { journal, blobs, state, .. } = taken;
        Self {
            run,
            journal: Mutex::new(journal),
            blobs,
            clock: RunClock::from_seconds(state.clock),
            calls: AtomicUsize::new(state.asked.len()),
            asked: state.asked,
        }
    }

    /// Questions that were answered so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn append(&self, line: &JournalLine) -> std::io::Result<()> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner).append(line)?;
        self.run.observer.line(line);
        Ok(())
    }

    /// Asks once, or reads the answer that an earlier start got.
    pub(crate) fn ask(&self, ask: &Ask<'_>, left_out: LeftOut) -> Result<Given, Undone> {
        if let Some(facts) = self.asked.get(&(ask.node, ask.what, ask.attempt)) {
            return Ok(match (&facts.answer, &facts.refused) {
                (Some(hash), _) => Given::Answer(Answer {
                    text: self.blobs.text(hash)?,
                    finish: facts.finish,
                    usage: facts.usage,
                }),
                (None, refused) => Given::Refused(refused.clone().unwrap_or_default()),
            });
        }
        if self.run.stop.is_asked() {
            return Err(Undone::Paused("it was stopped".to_owned()));
        }
        let started = Instant::now();
        let answered = self.run.player.answer(ask);
        let prompt = serde_json::to_vec(ask.messages).expect("messages have string keys only");
        let mut facts = AskFacts {
            node: ask.node,
            what: ask.what,
            attempt: ask.attempt,
            prompt: self.blobs.put(&prompt)?,
            answer: None,
            refused: None,
            finish: Finish::Refusal,
            usage: Usage::default(),
            by: self.run.player.answered_by(ask),
            seconds: started.elapsed().as_secs_f64(),
            left_out: left_out.parts,
            left_out_turns: left_out.turns,
        };
        let given = match answered {
            Ok(answer) => {
                facts.answer = Some(self.blobs.put(answer.text.as_bytes())?);
                (facts.finish, facts.usage) = (answer.finish, answer.usage);
                Given::Answer(answer)
            }
            Err(PlayerFault::Refused(reason)) => {
                facts.refused = Some(reason.clone());
                Given::Refused(reason)
            }
            // Nothing was answered, and less will be asked: there is nothing to keep.
            Err(PlayerFault::ContextTooLong { said }) => return Ok(Given::TooLong(said)),
            Err(PlayerFault::Unavailable(source)) => {
                return Err(Undone::Paused(tasks::text::with_causes(&*source)));
            }
        };
        self.append(&JournalLine::Asked(Box::new(facts)))?;
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(given)
    }

    /// What earlier starts left out of the question for a turn, if it was asked.
    pub(crate) fn left_out_turns(&self, node: NodeId, what: Asked) -> Option<&[NodeId]> {
        let (first, last) = ((node, what, 0), (node, what, u32::MAX));
        self.asked.range(first..=last).next().map(|(_, facts)| facts.left_out_turns.as_slice())
    }

    /// What an earlier start left out of one question, if it was answered.
    pub(crate) fn left_out_of(&self, node: NodeId, what: Asked, attempt: u32) -> Option<&[NodeId]> {
        self.asked.get(&(node, what, attempt)).map(|facts| facts.left_out_turns.as_slice())
    }

    /// Writes down the end of the run, with the submission that counts.
    pub(crate) fn finish(
        &self,
        chosen: Option<NodeId>,
        submission: Option<&[u8]>,
        why: AgentEnd,
    ) -> Result<AgentRest, AgentRunError> {
        if let Some(bytes) = submission {
            files::write_atomic(&self.run.folder.join("submission.csv"), bytes)?;
        }
        let clock = self.clock.now();
        self.append(&JournalLine::Finish { chosen, why, clock })?;
        Ok(AgentRest::Finished { chosen, why })
    }

    /// How the run came to rest where it was not finished.
    pub(crate) fn rest(&self, undone: Undone) -> Result<AgentRest, AgentRunError> {
        match undone {
            Undone::Paused(why) => {
                let clock = self.clock.now();
                self.append(&JournalLine::Paused { why: why.clone(), clock })?;
                Ok(AgentRest::Paused { why })
            }
            Undone::Failed(error) => Err(error),
        }
    }
}
