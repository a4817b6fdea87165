//! Tasks of a user: prompts with truths, and a scorer in Python.
//!
//! `prompt -> text -> a run of the scorer in the sandbox -> score and tags`
//!
//! What models are scored on is a file of [`CustomRow`]s. Those with an `answer` are public examples of
//! the form; the others are sealed ([`CustomTask`]). The scorer reads a line of JSON from standard input,
//! `{"id", "prompt", "prediction", "truth"}`, and prints one: `{"id", "score", "tags"}`, with a score from
//! 0 to 1. Tags are free, but [`Mistake`](crate::score::Mistake)'s are known to whoever looks for causes. The
//! score of a model is the mean, or what the scorer's function `aggregate` makes of all items.

mod row;
mod scorer;
mod task;
mod world;

pub use row::{BadRow, CustomRow, read_rows};
pub use scorer::Scorer;
pub use task::{CustomTask, CustomTaskError};
pub use world::CustomWorld;

/// The metric of a task whose scorer says itself what the scores of all items come to.
pub(crate) const AGGREGATE: &str = "aggregate of the custom scorer";
/// The name in `task.toml`.
pub(crate) const NAME: &str = "custom";
/// Rises with every change of what items are written as.
pub(crate) const VERSION: u32 = 1;
