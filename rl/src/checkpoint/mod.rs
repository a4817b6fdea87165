//! Policies on disk: where they are found, how they are opened, and the checkpoints of a run.

mod error;
pub mod merge;
pub mod policy;
pub mod source;
mod store;

pub use error::CheckpointError;
pub(crate) use store::REMOTE_STATE;
pub use store::{Checkpoint, Checkpoints, Resume, write};
