//! Grading again: whether the models of a run still have the scores that its ledger says.
//!
//! `ledger -> models that were kept -> grader -> results, item by item -> what differs`

use super::check::AuditReport;
use super::metrics::scores;
use crate::digest::Digest;
use crate::fault::Fault;
use crate::grade::{GradeEnd, GradedTask, GraderCommand, Grading, Results};
use crate::intake::ModelStore;
use crate::ledger::{Aggregate, LedgerError, State, read_lines, replay};
use crate::task_set::{TaskSet, TaskSetError};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use worlds::{Part, Suite, SuiteError, TaskSpec};

/// The folder in the sealed one that results are kept in while it lasts.
const FOLDER: &str = "regrade";

/// How models are graded again.
#[derive(Debug, Clone)]
pub struct Regrade {
    /// The suite of the run, with its sealed half.
    pub suite: Utf8PathBuf,
    /// The command line of the grader; without one that of the ledger.
    pub grader: Option<Vec<String>>,
    /// Time that one grading may take.
    pub limit: Duration,
    /// The device, as the grader calls it.
    pub device: String,
    /// The program `posttrain`, which starts graders.
    pub launcher: Utf8PathBuf,
}

/// How many scores were graded again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Regraded {
    /// Scores that were graded again: of a model on a part.
    pub scores: usize,
    /// Scores whose model was not kept.
    pub without_model: usize,
}

/// Why models could not be graded again.
#[derive(Debug, thiserror::Error)]
pub enum RegradeError {
    /// It is another suite.
    #[error("`{0}` is not the suite of this run: its suite.json has another hash")]
    OtherSuite(Utf8PathBuf),
    /// The suite cannot be used.
    #[error("failed to open the suite")]
    Suite(#[from] SuiteError),
    /// Its tasks cannot be used.
    #[error(transparent)]
    Tasks(#[from] TaskSetError),
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A file could not be read or written.
    #[error("failed to read the run")]
    Io(#[from] io::Error),
    /// A grading ended without a score.
    #[error("failed to grade the model {model} on the {part} items: {why}")]
    Grade {
        /// The hash of its weights and configuration.
        model: Digest,
        /// Dev or test items.
        part: Part,
        /// Why the grader gave no score.
        why: String,
    },
}

impl AuditReport {
    /// Grades the models that the run in the sealed folder `folder` has kept, and finds the scores that
    /// are not the same to the bit. Does nothing for a ledger that cannot be trusted.
    ///
    /// # Errors
    /// [`RegradeError`]; another score is no error but a finding.
    pub fn regrade(&mut self, folder: &Utf8Path, how: &Regrade) -> Result<(), RegradeError> {
        if self.metrics.is_none() {
            return Ok(());
        }
        let state = replay(folder, &read_lines(folder)?)?;
        // A grader may work elsewhere.
        let again = folder.canonicalize_utf8()?.join(FOLDER);
        let grading = grading(&state, how, again.join("results"))?;
        if again.exists() {
            fs::remove_dir_all(&again)?;
        }
        fs::create_dir_all(&grading.results)?;
        let graded = self.compare(folder, &state, &grading);
        fs::remove_dir_all(&again)?;
        self.regraded = Some(graded?);
        Ok(())
    }

    fn compare(
        &mut self,
        folder: &Utf8Path,
        state: &State,
        grading: &Grading,
    ) -> Result<Regraded, RegradeError> {
        let (store, results) = (ModelStore::of(&folder.join("models")), folder.join("results"));
        let mut done = Regraded::default();
        // The best submission and the last one may be the same.
        let wanted: BTreeMap<_, _> = scores(state)
            .into_iter()
            .map(|(part, model, scored)| ((part, model), scored))
            .collect();
        for ((part, model), scored) in wanted {
            let failed = |why: String| RegradeError::Grade { model, part, why };
            let sealed = match store.open(model) {
                Ok(sealed) => sealed,
                Err(Fault::Snapshot(path)) if !path.exists() => {
                    done.without_model += 1;
                    continue;
                }
                Err(Fault::Snapshot(_)) => {
                    self.find(format!("models/{model}"), "it was changed");
                    continue;
                }
                Err(fault) => return Err(failed(fault.to_string())),
            };
            let graded = grading.grade(&sealed, part, &AtomicBool::new(false));
            let graded = graded.map_err(|end| match end {
                GradeEnd::Refused(refusal) => failed(refusal.to_string()),
                GradeEnd::Busy(busy) => failed(busy.0),
                GradeEnd::Fault(fault) => failed(fault.to_string()),
            })?;
            done.scores += 1;
            let read = |folder| Results::read(folder, part, model).ok().flatten();
            let (Some((before, _)), Some((after, _))) = (read(&results), read(&grading.results))
            else {
                // The audit has said what is wrong with the first; the second was just written.
                continue;
            };
            let pairs = before.items.iter().zip(&after.items);
            let differ = pairs.filter(|(before, after)| before.score != after.score).count();
            if differ > 0 || graded.score != scored.score {
                let what = format!(
                    "graded again, the score is {} and not {}; {differ} of {} items differ",
                    graded.score, scored.score, graded.items
                );
                self.find(Results::path("results".into(), part, model), what);
            }
        }
        Ok(done)
    }
}

/// The grading of the run, with its results in another folder.
fn grading(state: &State, how: &Regrade, results: Utf8PathBuf) -> Result<Grading, RegradeError> {
    let facts = state.facts();
    let suite = Suite::open(&how.suite)?;
    if Digest::of(&fs::read(how.suite.join("suite.json"))?) != facts.suite {
        return Err(RegradeError::OtherSuite(how.suite.clone()));
    }
    suite.check_files()?;
    let tasks = TaskSet::open(&suite, facts.task.as_str())?;
    let place = how.suite.canonicalize_utf8()?;
    let graded = |spec: &TaskSpec| {
        let is_mean = match facts.aggregate {
            Aggregate::Mean => true,
            Aggregate::Reported => false,
            Aggregate::Tasks => spec.is_mean(),
        };
        GradedTask::new(&place, spec, is_mean)
    };
    Ok(Grading {
        command: GraderCommand {
            line: how.grader.clone().unwrap_or_else(|| facts.grader.clone()),
            limit: how.limit,
            launcher: how.launcher.clone(),
        },
        tasks: tasks.tasks().iter().map(|task| graded(task.spec())).collect(),
        device: how.device.clone(),
        results,
    })
}
