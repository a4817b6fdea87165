//! One self-contained HTML page that shows a run: tasks, curves, comparison, trajectories.

mod page;

pub use page::{CardError, Report, TaskCard};
