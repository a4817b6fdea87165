//! One model on one part: from results that are there already, or by the grader.

use super::job::{GraderCommand, Job};
use super::results::{GraderOutput, Results};
use crate::fault::Fault;
use crate::intake::SealedModel;
use crate::ledger::Scored;
use crate::refusal::{Refusal, RefusalCode};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;
use std::time::Instant;
use tasks::task::TaskId;
use worlds::{Part, Sizes, TaskSpec};

/// Attempts at a grading: a fault of ours is tried again once.
const ATTEMPTS: u32 = 2;
/// Characters of a grader's refusal that an agent is shown.
const SHOWN: usize = 500;
/// The folder for the grader's own files, beside that of results.
const SCRATCH: &str = "scratch";

/// Removes a folder, if it is there: a server that was killed leaves one.
fn clear(folder: &Utf8Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A task that models are graded on.
#[derive(Debug, Clone)]
pub struct GradedTask {
    /// Its folder, with the sealed half.
    pub folder: Utf8PathBuf,
    /// Its name.
    pub id: TaskId,
    /// How many items each part has.
    pub sizes: Sizes,
    /// Whether its score is the mean of its items, and not what the grader makes of them.
    pub is_mean: bool,
}

impl GradedTask {
    /// The task of this spec in the folder of its suite.
    pub fn new(suite: &Utf8Path, spec: &TaskSpec, is_mean: bool) -> Self {
        let folder = suite.join(spec.id.as_str());
        Self { folder, id: spec.id.clone(), sizes: spec.items, is_mean }
    }
}

/// Everything that a grading needs but the model.
#[derive(Debug)]
pub struct Grading {
    /// How the grader is started.
    pub command: GraderCommand,
    /// The tasks: one, or several that one model is graded on.
    pub tasks: Vec<GradedTask>,
    /// The device, as the grader calls it.
    pub device: String,
    /// Where results are kept.
    pub results: Utf8PathBuf,
}

/// The device is taken, perhaps by the agent's own training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy(pub String);

/// How a grading ended without a score.
#[derive(Debug)]
pub enum GradeEnd {
    /// The model cannot be run, through its own fault.
    Refused(Refusal),
    /// There is no device.
    Busy(Busy),
    /// A fault of ours, for the second time.
    Fault(Fault),
}

impl From<std::io::Error> for GradeEnd {
    fn from(error: std::io::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl Grading {
    /// Scores `model` on the items of a part. A content that has results is not graded again.
    ///
    /// # Errors
    /// [`GradeEnd`].
    pub fn grade(
        &self,
        model: &SealedModel,
        part: Part,
        stopping: &AtomicBool,
    ) -> Result<Scored, GradeEnd> {
        let kept = Results::read(&self.results, part, model.digest()).map_err(GradeEnd::Fault)?;
        if let Some((_, scored)) = kept {
            return Ok(scored);
        }
        let mut all = Vec::new();
        for task in &self.tasks {
            all.push((task, self.grade_task(task, model, part, stopping)?));
        }
        let no_task = || GradeEnd::Fault(std::io::Error::other("there is no task").into());
        let results = Results::join(all).ok_or_else(no_task)?;
        results.write(&self.results).map_err(GradeEnd::Fault)
    }

    fn grade_task(
        &self,
        task: &GradedTask,
        model: &SealedModel,
        part: Part,
        stopping: &AtomicBool,
    ) -> Result<Results, GradeEnd> {
        let mut attempt = 1;
        loop {
            match self.attempt(task, model, part, attempt, stopping) {
                Err(GradeEnd::Fault(fault))
                    if attempt < ATTEMPTS && !matches!(fault, Fault::Stopping) =>
                {
                    tracing::warn!(%fault, model = %model.digest(), "a grading failed; once more");
                    attempt += 1;
                }
                ended => return ended,
            }
        }
    }

    fn attempt(
        &self,
        task: &GradedTask,
        model: &SealedModel,
        part: Part,
        attempt: u32,
        stopping: &AtomicBool,
    ) -> Result<Results, GradeEnd> {
        let (folder, id, items) =
            (task.folder.clone(), task.id.clone(), task.sizes.of(part) as u64);
        // Beside the results: what a grader writes may hold sealed items.
        let scratch = self.results.with_file_name(SCRATCH);
        clear(&scratch)?;
        fs::create_dir(&scratch)?;
        let (model_folder, device) = (model.path().to_owned(), self.device.clone());
        let job = Job::new(folder, id, part, items, model_folder, device, scratch.clone());
        let began = Instant::now();
        let output = self.command.run(&job, stopping);
        clear(&scratch)?;
        let output = output.map_err(GradeEnd::Fault)?;
        match output {
            GraderOutput::Refused { refused } => {
                let why: String = refused.chars().take(SHOWN).collect();
                let message = format!(
                    "the model cannot be evaluated: {why}; try `rl eval` on it before you submit"
                );
                Err(GradeEnd::Refused(Refusal::new(RefusalCode::Model, message)))
            }
            GraderOutput::Busy { busy } => {
                Err(GradeEnd::Busy(Busy(busy.chars().take(SHOWN).collect())))
            }
            GraderOutput::Scored { score, items: scores } => {
                let of = (&task.id, part, items);
                let checked = Results::check(model.digest(), of, task.is_mean, score, scores);
                let unusable = |why| GradeEnd::Fault(Fault::Output { why, said: String::new() });
                let mut results = checked.map_err(unusable)?;
                results.seconds = began.elapsed().as_secs_f64();
                results.attempts = attempt;
                Ok(results)
            }
        }
    }
}
