//! The checks before anything dear is done: fail fast, and say what to do.
//!
//! `draft -> [static] -> plan -> [debug run] -> [mini-run] -> [sanity] -> Validated<Plan>`
//!
//! Exit codes and counts decide, and no model's opinion. Only a [`Validated`] plan is trained in full. It
//! comes from [`Chain::validate`], and in the staged workflow, which does without these checks, from
//! [`Chain::unchecked`].

pub(super) mod debug;
mod mini;
pub(super) mod sanity;
mod statics;

pub use sanity::{LossCurve, UpdateLoss};

use super::check::{Check, Rejection, Stage};
use super::fault::{FtFault, StageError, split};
use super::form::AnswerForm;
use super::plan::{Draft, Plan};
use super::schema::{BaseFacts, TrainerSchema};
use super::script::ScriptBox;
use super::script::ScriptRun;
use super::settings::CheckedFtSettings;
use super::teacher::{ScriptJob, Teachers};
use super::trainer::Trainer;
use crate::dojo::DatasetInfo;
use camino::Utf8Path;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// What the checks need.
#[derive(Debug, Clone, Copy)]
pub struct Chain<'a> {
    /// Limits and thresholds.
    pub settings: &'a CheckedFtSettings,
    /// Where scripts run.
    pub scripts: &'a ScriptBox,
    /// Whom they may ask.
    pub teachers: &'a Teachers,
    /// What the task asks for.
    pub form: &'a AnswerForm,
    /// What trains.
    pub trainer: &'a Trainer,
    /// The settings that it has.
    pub schema: &'a TrainerSchema,
    /// What of the base decides about settings.
    pub base: BaseFacts,
    /// The raw data.
    pub pool: &'a DatasetInfo,
    /// Set once the run is to stop: no script is run again then, no model is asked, and a training is ended.
    pub interrupted: &'a AtomicBool,
}

/// Something that may be carried out in full.
#[derive(Debug, Clone, PartialEq)]
pub struct Validated<T>(T);

impl<T> Deref for Validated<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// What the checks found: their lines, and the plan if it passed them.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// A line for each stage that was reached.
    pub checks: Vec<Check>,
    /// The plan, if no stage rejected it.
    pub plan: Option<Validated<Plan>>,
}

impl Validation {
    /// The stage that rejected the draft, and why; `None` if it passed.
    pub fn rejection(&self) -> Option<(Stage, Rejection)> {
        self.checks.iter().find_map(|check| Some((check.stage, check.rejection()?)))
    }
}

impl Chain<'_> {
    /// Whether the run is not to stop.
    ///
    /// # Errors
    /// [`FtFault::Interrupted`] if it is.
    pub(super) fn go_on(&self) -> Result<(), FtFault> {
        if self.interrupted.load(Ordering::SeqCst) { Err(FtFault::Interrupted) } else { Ok(()) }
    }

    /// Takes a draft through all stages, until one rejects it. The mini-run works in the folder `place`,
    /// which is made anew.
    ///
    /// # Errors
    /// [`FtFault`], where we failed and nothing can be said of the draft.
    pub fn validate(&self, draft: &Draft, place: &Utf8Path) -> Result<Validation, FtFault> {
        let mut checks = Vec::new();
        let plan = self.stages(draft, place, &mut checks)?.map(Validated);
        Ok(Validation { checks, plan })
    }

    /// Takes a draft as it is: only what a trainer itself refuses, its proposal and settings out of their
    /// ranges, is refused. For [`Workflow::Staged`](super::Workflow::Staged).
    ///
    /// # Errors
    /// A rejection of the class `PLANNER` or `CONFIG`.
    pub fn unchecked(&self, draft: &Draft) -> Result<Validated<Plan>, Rejection> {
        statics::check_values(self, draft).map(Validated)
    }

    /// Runs a plan's script with `--debug` or in full, with the teacher that its proposal names.
    ///
    /// # Errors
    /// A rejection if it asks what it may not; the fault within. Whatever else it does is in the
    /// [`ScriptRun`].
    pub(super) fn run_script(&self, plan: &Plan, is_debug: bool) -> Result<ScriptRun, StageError> {
        let limits = &self.settings.limits;
        let job = ScriptJob { scripts: self.scripts, script: plan.script(), is_debug, limits };
        match self.teachers.of(plan.proposal.data.synthesis.teacher) {
            Some(teacher) => teacher.run(job, || self.go_on()),
            None => Ok(job.run()?),
        }
    }

    fn stages(
        &self,
        draft: &Draft,
        place: &Utf8Path,
        checks: &mut Vec<Check>,
    ) -> Result<Option<Plan>, FtFault> {
        let no_warnings = |_: &Plan| Vec::new();
        let Some(plan) = stage(checks, Stage::Static, no_warnings, || statics::check(self, draft))?
        else {
            return Ok(None);
        };
        let warnings = |data: &debug::DebugData| data.warnings.clone();
        let Some(data) = stage(checks, Stage::Debug, warnings, || debug::check(self, &plan))?
        else {
            return Ok(None);
        };
        let mini = || mini::check(self, &plan, &data.samples, place);
        let Some(run) = stage(checks, Stage::Mini, |_| Vec::new(), mini)? else {
            return Ok(None);
        };
        // Losses explain a trainer that failed better than its last words do.
        let sanity = run.sanity(self);
        if let (Ok(_), Some(failed)) = (&sanity, run.failed) {
            let seconds = checks.pop().map_or(0.0, |check| check.seconds);
            checks.push(Check::of(Stage::Mini, Err(failed), seconds));
            return Ok(None);
        }
        let is_sane = sanity.is_ok();
        checks.push(Check::of(Stage::Sanity, sanity, 0.0));
        Ok(is_sane.then_some(plan))
    }
}

/// Carries out a stage and writes its line down. `None` if it rejects.
fn stage<T>(
    checks: &mut Vec<Check>,
    stage: Stage,
    warnings: impl FnOnce(&T) -> Vec<String>,
    work: impl FnOnce() -> Result<T, StageError>,
) -> Result<Option<T>, FtFault> {
    let began = Instant::now();
    let (found, value) = match split(work())? {
        Ok(value) => (Ok(warnings(&value)), Some(value)),
        Err(rejection) => (Err(rejection), None),
    };
    checks.push(Check::of(stage, found, began.elapsed().as_secs_f64()));
    Ok(value)
}
