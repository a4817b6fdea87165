//! The folder of one task: its files, its manifest, and Python that reads it.

mod draft;
mod pandas;

pub(crate) use draft::place;
pub use draft::{Draft, MODIFIED, PackageError, Staged, publish, stage, submission};
