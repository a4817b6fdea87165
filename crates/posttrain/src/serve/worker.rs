//! The thread that grades, one model at a time, until the run is over.

use super::plan::{Step, next_step};
use super::shared::Shared;
use crate::audit::metrics::Metrics;
use crate::digest::Digest;
use crate::fault::Fault;
use crate::grade::{Busy, GradeEnd};
use crate::ledger::{Event, LedgerError, Protocol, Scored, Submission, Which};
use agents::synced_lines::FolderLock;
use std::thread::sleep;
use std::time::Duration;
use tasks::files;
use worlds::Part;

/// Time between two tries for a device that another server has.
const DEVICE: Duration = Duration::from_millis(200);
/// Time between two tries for a device that is busy, where there is no agent who could be told.
const BUSY: Duration = Duration::from_secs(10);

/// Works until the server stops.
pub(super) fn work(shared: &Shared) {
    match carry_on(shared) {
        Ok(()) | Err(Fault::Stopping) => {}
        Err(fault) => shared.fail(fault),
    }
}

fn carry_on(shared: &Shared) -> Result<(), Fault> {
    loop {
        let mut run = shared.run();
        if shared.is_stopping() {
            return Ok(());
        }
        match next_step(run.ledger.state(), run.situation()) {
            Step::Append(event) => shared.append(&mut run, event)?,
            Step::Wait(limit) => drop(shared.wait(run, limit)),
            Step::GradeBase => {
                let base = run.ledger.state().facts().base;
                drop(run);
                let scored = insist(shared, base, shared.part())?;
                shared.append(&mut shared.run(), Event::Baseline(scored))?;
            }
            Step::Grade(id) => {
                drop(run);
                grade(shared, id)?;
                shared.prune(&shared.run());
            }
            Step::GradeFinal(which) => {
                drop(run);
                grade_final(shared, which)?;
            }
            Step::Done => {
                let metrics = Metrics::of(run.ledger.state());
                files::write_json(&shared.config.sealed.join("metrics.json"), &metrics)?;
                tracing::info!("the final scores are written");
                if shared.config.until_final {
                    drop(run);
                    shared.stop();
                } else {
                    drop(shared.wait(run, None));
                }
            }
        }
    }
}

/// Scores a submission, or says why not.
fn grade(shared: &Shared, id: u64) -> Result<(), Fault> {
    let mut run = shared.run();
    let state = run.ledger.state();
    let Some((digest, _, facts)) = state.submissions().get(&id).and_then(|one| one.model.clone())
    else {
        return Ok(());
    };
    if let Some(of) = state.known(digest).or(facts.copy.then_some(None)) {
        let known = match of {
            Some(of) => state.submissions().get(&of).and_then(Submission::scored),
            None => state.baseline(),
        };
        if let Some(score) = known.map(|scored| scored.score) {
            return Ok(shared.append(&mut run, Event::Cached { id, of, score })?);
        }
    }
    drop(run);
    let event = match score(shared, digest, shared.part()) {
        Ok(scored) => Event::Graded { id, scored },
        Err(GradeEnd::Refused(refusal)) => Event::Refused { id, request: None, refusal },
        Err(GradeEnd::Busy(Busy(by))) => Event::Failed { id, fault: by, busy: true },
        Err(GradeEnd::Fault(Fault::Stopping)) => return Err(Fault::Stopping),
        Err(GradeEnd::Fault(fault)) => {
            tracing::error!(%fault, id, "a submission could not be graded");
            Event::Failed { id, fault: chain(&fault), busy: false }
        }
    };
    Ok(shared.append(&mut shared.run(), event)?)
}

/// An error with its reasons.
fn chain(fault: &Fault) -> String {
    let mut text = fault.to_string();
    let mut source = std::error::Error::source(fault);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

fn grade_final(shared: &Shared, which: Which) -> Result<(), Fault> {
    let run = shared.run();
    let state = run.ledger.state();
    let id = state.final_id(which);
    let submission = id.and_then(|id| state.submissions().get(&id));
    let known = match which {
        Which::Base => state.baseline(),
        Which::Best | Which::Last => submission.and_then(Submission::scored),
    };
    let model = match which {
        Which::Base => Some(state.facts().base),
        Which::Best | Which::Last => submission.and_then(Submission::digest),
    };
    let known = known.cloned();
    drop(run);
    let scored = match (shared.config.protocol, model) {
        (Protocol::Paper, _) => known,
        (Protocol::Sealed, Some(model)) => Some(insist(shared, model, Part::Test)?),
        (Protocol::Sealed, None) => None,
    };
    let event = Event::Final { which, id, scored };
    shared.append(&mut shared.run(), event).map_err(|error: LedgerError| error.into())
}

/// Scores a model that must have a score.
fn insist(shared: &Shared, model: Digest, part: Part) -> Result<Scored, Fault> {
    loop {
        match score(shared, model, part) {
            Ok(scored) => return Ok(scored),
            Err(GradeEnd::Fault(fault)) => return Err(fault),
            Err(GradeEnd::Refused(refusal)) => return Err(Fault::Refused(refusal.message)),
            Err(GradeEnd::Busy(Busy(by))) => {
                tracing::warn!(by, "the device is busy; trying again");
                pause(shared, BUSY)?;
            }
        }
    }
}

fn score(shared: &Shared, model: Digest, part: Part) -> Result<Scored, GradeEnd> {
    let _device = take_device(shared).map_err(GradeEnd::Fault)?;
    let model = shared.intake.store.open(model).map_err(GradeEnd::Fault)?;
    shared.grading.grade(&model, part, shared.stopping())
}

/// Waits until no other server grades on the device.
fn take_device(shared: &Shared) -> Result<Option<FolderLock>, Fault> {
    let Some(path) = &shared.config.device_lock else { return Ok(None) };
    loop {
        if let Some(lock) = FolderLock::take(path)? {
            return Ok(Some(lock));
        }
        pause(shared, DEVICE)?;
    }
}

/// Sleeps, unless the server stops.
fn pause(shared: &Shared, time: Duration) -> Result<(), Fault> {
    let began = std::time::Instant::now();
    while began.elapsed() < time {
        if shared.is_stopping() {
            return Err(Fault::Stopping);
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}
