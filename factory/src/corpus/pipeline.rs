//! The whole story: seed -> dna -> story -> mutations -> blueprint -> tables -> ladder ->
//! thresholds -> evaluator -> description -> package -> verification -> corpus.

#[cfg(test)]
mod tests;

use crate::corpus::attempt::{AttemptEnd, AttemptRefusal, SlotAttempt};
use crate::corpus::folder::{self, CorpusError, Frame, Record};
use crate::corpus::ledger::{AttemptOutcome, Entry, Ledger, Stage};
use crate::package::PackageError;
use crate::roles::{Brief, RoleBackend, RoleFault, RoleFeedback, Roles};
use crate::spec::blueprint::Origin;
use crate::spec::config::{Options, OptionsError, Request};
use crate::spec::plan::{self, Plan, PlanError, Slot};
use crate::spec::scenario::{self, Scenario, ScenarioError};
use crate::spec::seed::{Seed, SeedError};
use crate::spec::seed_set::SeedSet;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// Why no corpus was made. Refused tasks are not among these: they are counted.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The seeds could not be read.
    #[error(transparent)]
    Seed(#[from] SeedError),
    /// The options cannot be used.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// No plan fits the options.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The embedded stories could not be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The corpus folder cannot be used.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// A task could not be written.
    #[error(
        "failed to write to `{out}`; free some space or choose another `--out`, then run the same \
         command again"
    )]
    Write {
        /// Path of the corpus folder.
        out: Utf8PathBuf,
        /// Which file could not be written.
        #[source]
        source: PackageError,
    },
    /// A role could not be asked.
    #[error(
        "failed to finish `{out}`; finished tasks are kept. Remove the cause, then run the same \
         command again"
    )]
    Role {
        /// Path of the corpus folder.
        out: Utf8PathBuf,
        /// Which role, and why.
        #[source]
        source: RoleFault,
    },
    /// Checks failed that no role can answer for.
    #[error(
        "{OWN_FAULTS} attempts failed checks that only a fault of this software can fail, the last \
         one at `{task}`: {reason}: {detail}. Finished tasks are kept; please report this with the \
         command"
    )]
    OwnFaults {
        /// The task of the last of them.
        task: String,
        /// Its reason code.
        reason: &'static str,
        /// The same in words.
        detail: String,
    },
    /// Threads could not be started.
    #[error("failed to start {0} threads; try a smaller `--jobs`")]
    Threads(usize),
}

/// Refusals that only a fault of this software explains, after which a run ends.
const OWN_FAULTS: usize = 3;

/// Reports progress; called from many threads.
pub trait Progress: Sync {
    /// The plan stands; this many of its slots were finished by an earlier run.
    fn planned(&self, total: usize, finished: usize, notes: &[String]);
    /// One more slot is finished, with a task or without.
    fn finished(&self, slot: &Slot, accepted: bool);
}

/// Makes a corpus, or takes up one that was interrupted. Ends early, keeping what is done,
/// once `stop` is set.
///
/// # Errors
/// [`PipelineError`].
pub fn generate(
    options: &Options,
    roles: &dyn Roles,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Record, PipelineError> {
    let seeds = SeedSet::resolve(&options.seeds)?;
    let stories = scenario::all()?;
    let request = options.check(seeds.fingerprint(), &scenario::domains(&stories))?;
    let mut plan = plan::plan(&request, seeds.seeds(), &stories)?;
    plan.slots.retain(|slot| options.shard.is_none_or(|shard| shard.holds(slot.index)));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs)
        .build()
        .map_err(|_| PipelineError::Threads(options.jobs))?;

    let room = folder::enter(&options.out, &request, options.shard)?;
    let ledger = Ledger::open(&options.out, request.limits.attempts).map_err(CorpusError::Io)?;
    let done: BTreeSet<u64> = ledger.entries().iter().map(|entry| entry.slot).collect();
    let todo: Vec<&Slot> = plan.slots.iter().filter(|slot| !done.contains(&slot.index)).collect();
    let notes = notes(&plan);
    progress.planned(plan.slots.len(), done.len(), &notes);

    let factory = Factory {
        request: &request,
        seeds: seeds.seeds(),
        stories: &stories,
        roles,
        ledger: &ledger,
        out: &options.out,
        own_faults: AtomicUsize::new(0),
    };
    let work = room.work();
    pool.install(|| {
        todo.par_iter().try_for_each(|slot| {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let accepted = factory.fill(slot, work)?;
            progress.finished(slot, accepted);
            Ok::<(), PipelineError>(())
        })
    })?;
    let frame = Frame { request: &request, shard: options.shard, reserved: plan.reserved, notes };
    Ok(folder::record(&options.out, frame, &ledger.entries())?)
}

/// What every slot needs.
struct Factory<'a> {
    request: &'a Request,
    seeds: &'a [Seed],
    stories: &'a [Scenario],
    roles: &'a dyn Roles,
    ledger: &'a Ledger,
    out: &'a Utf8Path,
    /// Refusals so far that only a fault of this software explains.
    own_faults: AtomicUsize,
}

impl Factory<'_> {
    /// Attempts a slot until a task passes or the attempts are used up; returns whether one
    /// passed. A slot that ends in an error leaves no line in the ledger and is made again.
    fn fill(&self, slot: &Slot, work: &Utf8Path) -> Result<bool, PipelineError> {
        let out = self.out;
        let write = |source| PipelineError::Write { out: out.to_owned(), source };
        let work = work.join(slot.index.to_string());
        let mut entries: Vec<Entry> = Vec::new();
        let mut feedback: Option<RoleFeedback> = None;
        let mut accepted = None;
        for attempt in 0..self.request.limits.attempts {
            let started = Instant::now();
            let brief = self.brief(slot, attempt);
            let limits = self.request.limits;
            let mut running = SlotAttempt::new(self.roles, limits, brief, feedback.as_ref());
            let result = running.run(&work);
            let (cost, metric, family) = (running.cost, running.metric, running.family);
            let (stage, outcome, reason, detail) = match result {
                Ok(task) => {
                    accepted = Some(task);
                    (Stage::Packaged, AttemptOutcome::Accepted, None, None)
                }
                Err(AttemptEnd::Refused(refusal)) => {
                    let AttemptRefusal { stage, reason, detail, feedback: latest } = refusal;
                    if latest.is_none() {
                        self.own_fault(slot, reason, &detail)?;
                    }
                    feedback = latest;
                    (stage, AttemptOutcome::Refused, Some(reason.to_owned()), Some(detail))
                }
                Err(AttemptEnd::Fault(source)) => {
                    return Err(PipelineError::Role { out: out.to_owned(), source });
                }
                Err(AttemptEnd::Write(source)) => return Err(write(source)),
            };
            let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let entry = Entry {
                slot: slot.index,
                task: slot.task.to_string(),
                attempt,
                cell: slot.cell,
                metric,
                family,
                stage,
                outcome,
                reason,
                detail,
                milliseconds,
                mode: None,
                model: None,
                calls: None,
                prompt_tokens: None,
                completion_tokens: None,
                cost_micro: None,
            };
            entries.push(match self.roles.backend(slot) {
                RoleBackend::Builtin => entry,
                RoleBackend::Model { mode, model } => Entry {
                    mode: Some(mode),
                    model: Some(model),
                    calls: Some(cost.calls),
                    prompt_tokens: Some(cost.prompt_tokens),
                    completion_tokens: Some(cost.completion_tokens),
                    cost_micro: cost.cost_micro_usd,
                    ..entry
                },
            });
            if accepted.is_some() {
                break;
            }
        }
        self.ledger.append(&entries).map_err(|error| write(error.into()))?;
        if let Some(task) = &accepted {
            // A folder of that name without lines in the ledger is left from a broken run.
            remove(&out.join(slot.task.as_str())).map_err(write)?;
            folder::publish(task, out).map_err(write)?;
        }
        remove(&work).map_err(write)?;
        Ok(accepted.is_some())
    }

    /// What the strategist starts from at an attempt.
    fn brief<'a>(&'a self, slot: &'a Slot, attempt: u64) -> Brief<'a> {
        Brief {
            slot,
            seed: &self.seeds[slot.seed],
            scenario: &self.stories[slot.scenario],
            origin: Origin { corpus_seed: self.request.seed, slot: slot.index, attempt },
            preset: self.request.preset,
        }
    }

    /// Counts a refusal that only a fault of this software explains. A few are attempts like
    /// others; the last of [`OWN_FAULTS`] ends the run.
    fn own_fault(
        &self,
        slot: &Slot,
        reason: &'static str,
        detail: &str,
    ) -> Result<(), PipelineError> {
        if self.own_faults.fetch_add(1, Ordering::Relaxed) + 1 < OWN_FAULTS {
            return Ok(());
        }
        let (task, detail) = (slot.task.to_string(), detail.to_owned());
        Err(PipelineError::OwnFaults { task, reason, detail })
    }
}

/// Removes a folder, if there is one.
fn remove(folder: &Utf8Path) -> Result<(), PackageError> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(())
}

/// Lines that a user should read: seeds held out.
fn notes(plan: &Plan) -> Vec<String> {
    let reserved = (!plan.reserved.is_empty())
        .then(|| format!("only held-out tasks descend from: {}", plan.reserved.join(", ")));
    reserved.into_iter().collect()
}
