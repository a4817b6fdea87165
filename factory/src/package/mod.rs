//! The folder of one task: its files and its manifest.

mod draft;
mod folder;
mod manifest;

pub use draft::{Draft, describe, develop, submission};
#[cfg(test)]
pub(crate) use folder::place;
pub use folder::{MODIFIED, PackageError, Staged, stage};
