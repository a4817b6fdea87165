//! Grading: a sealed model becomes a score.
//!
//! `(sealed model, part) -> job -> grader (a child process) -> results on disk -> score`
//!
//! The grader is another program, which gets a job as JSON on standard input and prints one object. The
//! server checks what it prints item by item, computes the mean itself where the score is one, and keeps the
//! results under the hash of the model, so that a content is graded once per part, whatever happens to the
//! server.

mod grading;
mod job;
mod results;

pub use grading::{Busy, GradeEnd, GradedTask, Grading};
pub use job::{GRADER, GraderCommand, Job};
pub(crate) use results::task_of;
pub use results::{GraderOutput, ItemScore, Results, TaskScore};
