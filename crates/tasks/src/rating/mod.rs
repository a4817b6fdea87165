//! How hard the tasks of a corpus are, as measured by solvers that know no rule.
//!
//! `factory rate` runs the solvers and appends a [`Rating`] per task and solver to `ratings.jsonl`
//! in the corpus folder; anyone who opens the corpus can read a task's [`Level`] from it.

mod file;
mod level;
mod solver;

pub use file::{RATING_VERSION, RATINGS, Rating, RatingError, Ratings, append, files_hash};
pub use level::{Level, LevelSource, TaskLevel};
pub use solver::{Solver, UnknownSolver};
