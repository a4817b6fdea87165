//! The folder of one task: its files, its manifest, and Python that reads it.

mod draft;
mod folder;
mod manifest;
mod pandas;

pub use draft::{Draft, describe, develop, submission};
#[cfg(test)]
pub(crate) use folder::place;
pub use folder::{MODIFIED, PackageError, Staged, stage};
