//! Questions about a knowledge base, asked of a run's player and written into its journal, so that a
//! run that was killed asks none of them twice.

use super::node::NodeId;
use super::open::{Given, LeftOut, OpenRun, Undone};
use super::player::{Ask, Asked};
use crate::knowledge::{Job, JobFault, JobModel};
use llm::{Finish, Message};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Sampling temperature of labels, whose votes are to differ.
const VOTING: f64 = 0.5;
/// Most tokens of an answer.
const ANSWER_TOKENS: u32 = 4096;

/// The player of a run as a model that answers questions about knowledge. Questions of a kind and a
/// vote are counted: what follows an answer follows from it alone, so a run that goes on asks the same
/// ones in the same order.
pub(crate) struct JournalJobs<'a> {
    open: &'a OpenRun<'a>,
    asked: Mutex<BTreeMap<(Job, u64), u32>>,
    /// Why the last question was not answered.
    undone: Mutex<Option<Undone>>,
}

/// The run has to pause, or is broken; why is kept by [`JournalJobs`].
#[derive(Debug, thiserror::Error)]
#[error("the run does not go on")]
struct NotAnswered;

impl<'a> JournalJobs<'a> {
    pub(crate) fn new(open: &'a OpenRun<'a>) -> Self {
        Self { open, asked: Mutex::default(), undone: Mutex::default() }
    }

    /// Why a question was not answered, if one was not.
    pub(crate) fn undone(&self) -> Option<Undone> {
        self.undone.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for JournalJobs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JournalJobs").finish_non_exhaustive()
    }
}

impl JobModel for JournalJobs<'_> {
    fn answer(&self, job: Job, messages: &[Message], sample: u64) -> Result<String, JobFault> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = asked.entry((job, sample)).or_insert(0);
        let ask = Ask {
            node: NodeId(u32::try_from(sample).expect("few votes")),
            what: Asked::Knowledge(job),
            attempt: *attempt,
            messages,
            schema: None,
            temperature: if job == Job::Label { VOTING } else { 0.0 },
            top_p: 1.0,
            max_tokens: ANSWER_TOKENS,
            parents: &[],
        };
        match self.open.ask(&ask, LeftOut::default()) {
            Ok(given) => {
                *attempt += 1;
                Ok(match given {
                    Given::Answer(answer) if answer.finish == Finish::Stop => answer.text,
                    Given::Answer(_) | Given::Refused(_) | Given::TooLong(_) => String::new(),
                })
            }
            Err(undone) => {
                *self.undone.lock().unwrap_or_else(PoisonError::into_inner) = Some(undone);
                Err(JobFault(Box::new(NotAnswered)))
            }
        }
    }
}
