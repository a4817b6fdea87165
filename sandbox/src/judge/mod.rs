//! Whoever can say what a submission is worth, for each kind of task.
//!
//! `(submission, part of the test rows) -> grade`. Our own tasks have
//! [`Grader`](crate::grade::Grader), competitions the graders of [`mlebench`](crate::mlebench),
//! released bundles a script of their own, which runs in a jail with the answers.

mod competition;
mod evaluator;
mod evaluators;
mod sample;
mod script;
mod verdict;

pub use competition::CompetitionGrader;
pub use evaluator::Evaluator;
pub use evaluators::Evaluators;
pub use script::EvaluatorFault;

use crate::grade::{Direction, Grade, GradeError, Thresholds};
use crate::metrics::Metric;
use crate::semaphore::Semaphore;
use crate::submission::Part;
use std::fmt::Debug;

/// The memory of all grades in flight in this process, a permit a byte: 800 MiB, which is three
/// submissions of the largest size at once, and hundreds of the usual ones.
pub fn memory() -> &'static Semaphore {
    static MEMORY: Semaphore = Semaphore::new(800 << 20);
    &MEMORY
}

/// Grades one task's submissions.
pub trait Judge: Debug + Send {
    /// Scores a submission's `part` of the test rows. Where the task does not
    /// [take parts](crate::task::Task::takes_parts), only [`Part::All`] is asked for.
    ///
    /// # Errors
    /// A [`GradeError`], which says whether the agent or the task is to blame.
    fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError>;

    /// The most memory in bytes that grading a submission of `size` bytes takes, its own bytes
    /// counted in: as many permits of [`memory`] to hold meanwhile.
    fn memory(&self, size: u64) -> u64 {
        size.saturating_mul(4).saturating_add(1 << 20)
    }

    /// The task's milestones.
    fn thresholds(&self) -> Thresholds;

    /// Which way scores improve.
    fn direction(&self) -> Direction;

    /// What is computed, where that has a name here.
    fn metric(&self) -> Option<Metric>;
}
