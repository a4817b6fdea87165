//! The whole story: seed -> dna -> story -> mutations -> blueprint -> tables -> ladder ->
//! thresholds -> evaluator -> description -> package -> verification -> corpus.

#[cfg(test)]
mod tests;

use crate::corpus::attempt::{AttemptEnd, AttemptRefusal, SlotAttempt};
use crate::corpus::folder::{self, CorpusError, Frame, Record};
use crate::corpus::ledger::{self, AttemptOutcome, Entry, Ledger, ModelUse, Stage};
use crate::package::PackageError;
use crate::roles::{
    Brief, Builtin, RoleBackend, RoleFault, RoleFeedback, Roles, SPENT, WorkPermits,
};
use crate::spec::blueprint::Origin;
use crate::spec::config::{Options, OptionsError, Request};
use crate::spec::plan::{self, Plan, PlanError, Slot};
use crate::spec::scenario::{self, Scenario, ScenarioError};
use crate::spec::seed::{Seed, SeedError};
use crate::spec::seed_set::SeedSet;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
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
    /// Models fill hardly any slot, each time for one reason.
    #[error(
        "{empty} of {slots} slots of models stay empty, most of them because of `{reason}`. Finished \
         tasks are kept; choose another model or mode, or continue with `--carry-on`"
    )]
    MostlyRefused {
        /// Slots without a task.
        empty: usize,
        /// Finished slots.
        slots: usize,
        /// The reason code that ended most of them.
        reason: String,
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
}

/// Slots of models after which a run may be ended because most of them stay empty.
const JUDGED_FROM: usize = 10;
/// The share of empty slots that ends it.
const MOSTLY: f64 = 0.8;

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
/// once `stop` is set. `roles` play the slots that the options give to models, or all of them if
/// the options give none; the built-in roles play the others.
///
/// # Errors
/// [`PipelineError`].
pub fn generate(
    options: &Options,
    roles: &dyn Roles,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Record, PipelineError> {
    let Planned { request, seeds, stories, plan } = Planned::new(options)?;
    let room = folder::enter(&options.out, &request, options.shard)?;
    let ledger =
        Ledger::open(&options.out, |slot| request.attempts(slot)).map_err(CorpusError::Io)?;
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
        endings: Mutex::default(),
    };
    factory.fill_all(&todo, options, room.work(), progress, stop)?;
    let frame = Frame { request: &request, shard: options.shard, reserved: plan.reserved, notes };
    let entries = ledger.close().map_err(CorpusError::Io)?;
    Ok(folder::record(&options.out, frame, &entries)?)
}

/// What a corpus is made from.
struct Planned {
    request: Request,
    seeds: SeedSet,
    stories: Vec<Scenario>,
    /// The slots of the shard.
    plan: Plan,
}

impl Planned {
    fn new(options: &Options) -> Result<Self, PipelineError> {
        let seeds = SeedSet::resolve(&options.seeds)?;
        let stories = scenario::all()?;
        let request = options.check(seeds.fingerprint(), &scenario::domains(&stories))?;
        let mut plan = plan::plan(&request, seeds.seeds(), &stories)?;
        plan.slots.retain(|slot| options.shard.is_none_or(|shard| shard.holds(slot.index)));
        Ok(Self { request, seeds, stories, plan })
    }
}

/// Slots of a corpus that are not finished, and what is known of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenSlots {
    /// Those that the built-in roles play.
    pub builtin: usize,
    /// Those that chat models play.
    pub models: usize,
    /// The attempts at finished slots.
    pub finished: Vec<Entry>,
}

/// Counts the slots that [`generate`] would have to fill, changing nothing.
///
/// # Errors
/// [`PipelineError`].
pub fn open_slots(options: &Options) -> Result<OpenSlots, PipelineError> {
    let Planned { request, plan, .. } = Planned::new(options)?;
    let finished = match folder::usable(&options.out)? {
        Some(_) => ledger::finished_entries(&options.out, |slot| request.attempts(slot))
            .map_err(CorpusError::Io)?,
        None => Vec::new(),
    };
    let done: BTreeSet<u64> = finished.iter().map(|entry| entry.slot).collect();
    let open = plan.slots.iter().filter(|slot| !done.contains(&slot.index));
    let (models, builtin): (Vec<&Slot>, Vec<&Slot>) =
        open.partition(|slot| request.roles.plays(request.seed, slot.index));
    Ok(OpenSlots { builtin: builtin.len(), models: models.len(), finished })
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
    /// How the slots of models ended: the last reason of those that stay empty.
    endings: Mutex<Vec<Option<String>>>,
}

impl Factory<'_> {
    /// Fills slots in order, several at a time, until all are finished or one of them ends in an
    /// error; slots that are begun by then are finished.
    fn fill_all(
        &self,
        slots: &[&Slot],
        options: &Options,
        work: &Utf8Path,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<(), PipelineError> {
        let jobs = options.threads();
        let builtin = self.request.roles.is_builtin();
        let threads = if builtin { jobs } else { jobs.max(options.concurrency) };
        let permits = WorkPermits::new(jobs);
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None));
        let failed = || failure.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(slots.len()) {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) && failed().is_none() {
                        let Some(slot) = slots.get(next.fetch_add(1, Ordering::Relaxed)) else {
                            break;
                        };
                        let filled = self.fill(slot, work, &permits);
                        match filled.and_then(|reason| {
                            progress.finished(slot, reason.is_none());
                            if options.carry_on { Ok(()) } else { self.judge(slot, reason) }
                        }) {
                            Ok(()) => {}
                            Err(error) => {
                                failed().get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        failure.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    /// Ends the run if models fill hardly any slot for one reason, before that costs more.
    fn judge(&self, slot: &Slot, reason: Option<String>) -> Result<(), PipelineError> {
        if matches!(
            self.roles(slot).backend(&self.brief(slot, 0), BTreeMap::new()),
            RoleBackend::Builtin
        ) {
            return Ok(());
        }
        let mut endings = self.endings.lock().unwrap_or_else(PoisonError::into_inner);
        endings.push(reason);
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for reason in endings.iter().flatten() {
            *reasons.entry(reason).or_default() += 1;
        }
        let worst = reasons.iter().max_by_key(|(_, count)| **count);
        match worst {
            Some((reason, count))
                if endings.len() >= JUDGED_FROM
                    && *count as f64 >= MOSTLY * endings.len() as f64 =>
            {
                let (slots, reason) = (endings.len(), (*reason).to_owned());
                Err(PipelineError::MostlyRefused { empty: *count, slots, reason })
            }
            _ => Ok(()),
        }
    }

    /// What plays the roles at a slot.
    fn roles(&self, slot: &Slot) -> &dyn Roles {
        let Request { roles, seed, .. } = self.request;
        if roles.is_builtin() || roles.plays(*seed, slot.index) { self.roles } else { &Builtin }
    }

    /// Attempts a slot until a task passes or the attempts are used up; returns the last reason if
    /// none passed. A slot that ends in an error leaves no line in the ledger and is made again.
    fn fill(
        &self,
        slot: &Slot,
        work: &Utf8Path,
        permits: &WorkPermits,
    ) -> Result<Option<String>, PipelineError> {
        let permit = permits.acquire();
        let (out, roles) = (self.out, self.roles(slot));
        let write = |source| PipelineError::Write { out: out.to_owned(), source };
        let work = work.join(slot.index.to_string());
        let mut entries: Vec<Entry> = Vec::new();
        let mut feedback: Option<RoleFeedback> = None;
        let mut accepted = None;
        for attempt in 0..self.request.attempts(slot.index) {
            let started = Instant::now();
            let brief = self.brief(slot, attempt);
            let limits = self.request.limits;
            let mut running = SlotAttempt::new(roles, limits, brief, feedback.as_ref(), &permit);
            let result = running.run(&work);
            let SlotAttempt { cost, fallbacks, metric, family, .. } = running;
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
            let spent = reason.as_deref() == Some(SPENT);
            entries.push(Entry {
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
                milliseconds: Some(milliseconds),
                model: match roles.backend(&self.brief(slot, attempt), BTreeMap::new()) {
                    RoleBackend::Builtin => None,
                    RoleBackend::Model { mode, model, authors: _ } => {
                        Some(ModelUse { mode, name: model, cost, fallbacks })
                    }
                },
            });
            if accepted.is_some() || spent {
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
        let last = entries.pop().and_then(|entry| entry.reason);
        Ok(if accepted.is_some() { None } else { last.or_else(|| Some(String::new())) })
    }

    /// What the strategist starts from at an attempt.
    fn brief<'a>(&'a self, slot: &'a Slot, attempt: u64) -> Brief<'a> {
        Brief {
            slot,
            seed: &self.seeds[slot.seed],
            scenario: &self.stories[slot.scenario],
            origin: Origin { corpus_seed: self.request.seed, slot: slot.index, attempt },
            preset: self.request.preset,
            levels: self.request.levels,
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
