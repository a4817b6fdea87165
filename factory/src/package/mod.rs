//! The folder of one task: its files and its manifest.

mod draft;
mod folder;
mod manifest;
mod rebuild;

pub use draft::{Draft, EVALUATOR, PROSE, submission};
pub use folder::{MODIFIED, PackageError, Staged, stage};
pub use rebuild::{RebuildError, rebuild};
