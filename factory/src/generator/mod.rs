//! Generators: Python by a chat model that draws the rows of a task.
//!
//! A generator defines `columns`, `score`, `item` and `transforms`, and does nothing at import. It
//! runs in the jail; what it returns is checked here, and everything else about a task (labels,
//! noise, split, files, metric, milestones) is ours. It never sees a label, because labels are
//! drawn from its scores afterwards.

mod checks;
pub mod framed;
mod generate;
mod hidden;
mod jailed;
mod refusal;
mod repeats;
mod rows;
mod spec;

pub use generate::{Generation, generate};
pub use jailed::{FILE, GeneratorJail, Inspection};
pub use refusal::{GeneratorError, GeneratorFault, GeneratorFlaw, GeneratorRefusal};
pub use rows::{GeneratedItems, GeneratedRows, RowsError};
pub use spec::{GeneratorSpec, MOST_HIDDEN, MOST_SAMPLES, MOST_SIDE, MOST_TEXT};
