//! The whole story: seed -> dna -> story -> mutations -> blueprint -> tables -> ladder ->
//! thresholds -> description -> package -> verification -> corpus.

use crate::corpus::folder::{self, CorpusError, Frame, Record};
use crate::corpus::ledger::{Entry, Ledger, Outcome, Stage};
use crate::package::{self, Draft, PackageError, Staged};
use crate::roles::{Brief, RoleError, Roles};
use crate::spec::blueprint::Origin;
use crate::spec::config::{ATTEMPTS, Options, OptionsError, Request};
use crate::spec::plan::{self, Plan, PlanError, Slot};
use crate::spec::rule::Family;
use crate::spec::scenario::{self, Scenario, ScenarioError};
use crate::spec::seed::{Seed, SeedError};
use crate::spec::seed_set::SeedSet;
use crate::verify::{self, Rebuild, Verified, VerifyError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tasks::metrics::Metric;

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
        "failed to write to `{out}`; free some space or choose another `--out`, then run the same command again"
    )]
    Write {
        /// Path of the corpus folder.
        out: Utf8PathBuf,
        /// Which file could not be written.
        #[source]
        source: PackageError,
    },
    /// Threads could not be started.
    #[error("failed to start {0} threads; try a smaller `--jobs`")]
    Threads(usize),
}

/// One task in so many is built twice as a whole. Of the others everything is but the fits,
/// which are as long as all the rest together and a function of the very same data;
/// `factory verify` repeats all of them.
const REFITTED: u64 = 8;

/// What one attempt came to.
enum Verdict {
    Accepted(Box<Verified<Staged>>),
    Refused { stage: Stage, reason: &'static str, detail: String },
}

/// One attempt: what was planned, and what it came to.
struct Attempt {
    metric: Option<Metric>,
    family: Option<Family>,
    verdict: Verdict,
}

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
    let ledger = Ledger::open(&options.out, ATTEMPTS).map_err(CorpusError::Io)?;
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
    };
    let work = room.work();
    let outcome = pool.install(|| {
        todo.par_iter().try_for_each(|slot| {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let accepted = factory.fill(slot, work, &options.out)?;
            progress.finished(slot, accepted);
            Ok(())
        })
    });
    outcome.map_err(|source| PipelineError::Write { out: options.out.clone(), source })?;
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
}

impl Factory<'_> {
    /// Attempts a slot until a task passes or the attempts are used up.
    fn fill(&self, slot: &Slot, work: &Utf8Path, out: &Utf8Path) -> Result<bool, PackageError> {
        let work = work.join(slot.index.to_string());
        let mut entries: Vec<Entry> = Vec::new();
        let mut accepted = None;
        for attempt in 0..ATTEMPTS {
            let started = Instant::now();
            let feedback = entries.last().and_then(|entry| entry.detail.clone());
            let result = self.attempt(slot, attempt, feedback.as_deref(), &work)?;
            let (stage, outcome, reason, detail) = match result.verdict {
                Verdict::Accepted(task) => {
                    accepted = Some(task);
                    (Stage::Packaged, Outcome::Accepted, None, None)
                }
                Verdict::Refused { stage, reason, detail } => {
                    (stage, Outcome::Refused, Some(reason.to_owned()), Some(detail))
                }
            };
            entries.push(Entry {
                slot: slot.index,
                task: slot.task.to_string(),
                attempt,
                cell: slot.cell,
                metric: result.metric,
                family: result.family,
                stage,
                outcome,
                reason,
                detail,
                milliseconds: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            });
            if accepted.is_some() {
                break;
            }
        }
        self.ledger.append(&entries)?;
        if let Some(task) = &accepted {
            // A folder of that name without lines in the ledger is left from a broken run.
            let place = out.join(slot.task.as_str());
            if place.exists() {
                fs::remove_dir_all(&place)?;
            }
            folder::publish(task, out)?;
        }
        if work.exists() {
            fs::remove_dir_all(&work)?;
        }
        Ok(accepted.is_some())
    }

    /// Makes one attempt, from the brief to a verified folder that is not yet in the corpus.
    fn attempt(
        &self,
        slot: &Slot,
        attempt: u64,
        feedback: Option<&str>,
        work: &Utf8Path,
    ) -> Result<Attempt, PackageError> {
        let origin = Origin { corpus_seed: self.request.seed, slot: slot.index, attempt };
        let scenario = &self.stories[slot.scenario];
        let preset = self.request.preset;
        let brief =
            Brief { slot, seed: &self.seeds[slot.seed], scenario, origin, preset, feedback };
        let blueprint = match self.roles.strategise(&brief) {
            Ok(blueprint) => blueprint,
            Err(error) => {
                let verdict = refused(Stage::Strategy, &error);
                return Ok(Attempt { metric: None, family: None, verdict });
            }
        };
        let (metric, family) = (Some(blueprint.metric), blueprint.family());
        let verdict = match package::develop(self.roles, blueprint, scenario) {
            Ok(draft) => match self.inspect(draft, scenario, work) {
                Ok(task) => Verdict::Accepted(Box::new(task)),
                Err(VerifyError::Package(error)) => return Err(error),
                Err(VerifyError::Refused(refusal)) => Verdict::Refused {
                    stage: Stage::Verification,
                    reason: refusal.code(),
                    detail: refusal.to_string(),
                },
            },
            Err(error) => refused(Stage::Development, &error),
        };
        Ok(Attempt { metric, family, verdict })
    }

    /// Writes the task out and verifies it, then builds it once more from what is on disk.
    fn inspect(
        &self,
        draft: Draft,
        scenario: &Scenario,
        work: &Utf8Path,
    ) -> Result<Verified<Staged>, VerifyError> {
        let again = if draft.blueprint.origin.slot.is_multiple_of(REFITTED) {
            Rebuild::Whole
        } else {
            Rebuild::Data
        };
        let task = verify::verify(draft, work)?;
        verify::rebuilds(task.get(), self.roles, scenario, again)?;
        Ok(task)
    }
}

fn refused(stage: Stage, error: &RoleError) -> Verdict {
    Verdict::Refused { stage, reason: error.code(), detail: error.to_string() }
}

/// Lines that a user should read: seeds held out.
fn notes(plan: &Plan) -> Vec<String> {
    let reserved = (!plan.reserved.is_empty())
        .then(|| format!("only held-out tasks descend from: {}", plan.reserved.join(", ")));
    reserved.into_iter().collect()
}
