//! `factory rate`: how hard the tasks of a corpus are for solvers that know no rule.
//!
//! `corpus -> scripts in the sandbox -> ratings.jsonl -> table`. The solvers are Python programs in
//! `crates/evals/solvers/`, which see a task's public folder and nothing else. What a line of
//! `ratings.jsonl` holds, and how a task's level follows from it, is in [`tasks::rating`].

mod gates;
mod run;
mod script;
mod summary;
mod text;

pub use gates::{Gate, held_out_group};
pub use run::{Labels, Rated, RatingProgress, RatingRunError, RatingSettings, rate};
pub use script::script;
pub use summary::{Pair, RatingSummary, SUMMARY_VERSION, SolverSummary};
