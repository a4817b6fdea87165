//! A request to submit becomes a line of the ledger.

use super::shared::{Run, Shared};
use crate::intake::IntakeError;
use crate::ledger::{Event, RequestFacts, SubmittedModel};
use crate::record::{Moment, lineage};
use crate::refusal::Refusal;
use std::sync::{Arc, PoisonError};

/// What became of a request.
#[derive(Debug)]
pub(super) enum Received {
    /// It is a submission of this number, and waits to be graded.
    Accepted(u64),
    /// It is a submission of this number that cannot be evaluated.
    Refused(u64, Refusal),
    /// A submission with the same content waits to be graded.
    SameContent(u64),
    /// We could not take it; it counts for nothing.
    Failed,
}

/// Why a request is not looked at. None of these is a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TurnedAway {
    /// The base is still being scored.
    NotStarted,
    /// The time is up, or the operator ended the run.
    Over,
    /// As many as may be were submitted.
    TooMany(String),
    /// Too many wait to be graded.
    Full(u64),
}

/// A request that arrived in time. While it lives, the run does not end.
#[derive(Debug)]
pub(super) struct Arrival {
    shared: Arc<Shared>,
    used_ms: u64,
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.shared.run().arriving -= 1;
        self.shared.wake();
    }
}

impl Arrival {
    /// Lets a request in, if there is time and room.
    ///
    /// # Errors
    /// [`TurnedAway`].
    pub(super) fn new(shared: &Arc<Shared>) -> Result<Self, TurnedAway> {
        let mut run = shared.run();
        admit(&run)?;
        let used_ms = run.ledger.used_ms();
        run.arriving += 1;
        Ok(Self { shared: Arc::clone(shared), used_ms })
    }

    /// Takes a snapshot and writes the submission down. Blocks for as long as that takes.
    pub(super) fn submit(self, model_path: &str, note: Option<String>) -> Received {
        let shared = &self.shared;
        let used_ms = self.used_ms;
        let one_at_a_time = shared.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let admitted = shared.intake.admit(model_path);
        let mut run = shared.run();
        let id = run.ledger.state().next_id();
        let request = RequestFacts { model_path: model_path.to_owned(), note, used_ms };
        let (event, received) = match admitted {
            Ok(admitted) => {
                let same = run.ledger.state().all_waiting().find_map(|(id, submission)| {
                    (submission.digest() == Some(admitted.model)).then_some(id)
                });
                if let Some(id) = same {
                    return Received::SameContent(id);
                }
                let (model, bytes, facts) = (admitted.model, admitted.bytes, admitted.facts);
                let event = Event::Submitted(SubmittedModel { id, request, model, bytes, facts });
                (event, Received::Accepted(id))
            }
            Err(IntakeError::Refused(refusal)) => {
                let event = Event::Refused { id, request: Some(request), refusal: refusal.clone() };
                (event, Received::Refused(id, refusal))
            }
            Err(IntakeError::Fault(fault)) => {
                tracing::error!(%fault, "a snapshot could not be taken");
                return Received::Failed;
            }
        };
        let appended = shared.append(&mut run, event);
        drop(run);
        if let Some(code) = shared.config.code.as_ref().filter(|_| appended.is_ok())
            && let Err(error) =
                code.take(Moment::Submission(id), lineage(&shared.intake.output, model_path))
        {
            // It says how the agent came there, and nothing about the score.
            tracing::warn!(%error, id, "the agent's code could not be kept");
        }
        drop(one_at_a_time);
        match appended {
            Ok(()) => received,
            Err(error) => {
                tracing::error!(%error, "a submission could not be written down");
                Received::Failed
            }
        }
    }
}

/// Whether one more may be submitted now.
fn admit(run: &Run) -> Result<(), TurnedAway> {
    let state = run.ledger.state();
    let limits = &state.facts().limits;
    if !state.spending().is_started() {
        return Err(TurnedAway::NotStarted);
    }
    if run.is_over() {
        return Err(TurnedAway::Over);
    }
    if let Some(most) = limits.submissions
        && state.counted() + run.arriving >= most
    {
        return Err(TurnedAway::TooMany(format!("{most} submissions are allowed, and were made")));
    }
    if state.refused_at_intake() >= limits.refusals {
        let most = limits.refusals;
        return Err(TurnedAway::TooMany(format!(
            "{most} submissions were refused; no more are read"
        )));
    }
    if let Some(share) = limits.grading_share
        && state.grading_seconds() * 1000.0 >= share * state.facts().budget.limit_ms as f64
    {
        let message = format!("grading may take {share} of the budget, and has taken that");
        return Err(TurnedAway::TooMany(message));
    }
    if state.all_waiting().count() as u64 + run.arriving >= limits.waiting {
        return Err(TurnedAway::Full(limits.waiting));
    }
    Ok(())
}
