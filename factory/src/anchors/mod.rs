//! Anchors: tasks of our own form made from small real data that Python packages carry. Solvers and
//! policies are measured on them, to see whether a corpus ranks them as reality does. They are marked
//! in their manifests and never trained on.
//!
//! `catalogue.toml + packages -> RawData -> Division -> AnchorTask -> <id>/`. Everything that is
//! drawn comes from the stream ("anchor", seed, id).
//!
//! - `catalogue`: what each data set is, what is asked, whose it is.
//! - `extract`: `factory/anchors/extract.py` reads the packages, in a Python of its own.
//! - `division`: duplicates out, rows for training and for testing, opaque ids.
//! - `features`, `reference`, `panel`: eleven reference solvers, fitted to the public training rows;
//!   their scores place the milestones.
//! - `page`, `task`, `folder`: the description, the files of a task, all of them on disk.

mod catalogue;
mod division;
mod extract;
mod features;
mod folder;
mod page;
mod panel;
mod reference;
mod task;

pub use catalogue::ids;
pub use extract::ExtractError;
pub use folder::{AnchorError, AnchorSettings, write};
pub use panel::PanelError;
