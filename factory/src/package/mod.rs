//! The folder of one task: its files and its manifest.

mod draft;
mod folder;
mod manifest;
mod rebuild;
mod source;

#[cfg(test)]
pub(crate) use draft::public_tables;
pub use draft::{Draft, submission};
pub(crate) use draft::{json, submission_of};
pub(crate) use folder::write;
pub use folder::{MODIFIED, PackageError, Staged, stage};
pub use rebuild::{RebuildError, rebuild};
pub use source::{SourceError, TaskSource};
