//! Errors that end a run of `rl prefer`.

use crate::checkpoint::CheckpointError;
use crate::checkpoint::policy::PolicyError;
use crate::text::template::TemplateError;
use crate::train::choice::NothingHeldOut;
use crate::train::learner::LearnerError;
use crate::train::records::RecordsError;
use camino::Utf8PathBuf;

/// Errors that end a run of `rl prefer`.
#[derive(Debug, thiserror::Error)]
pub enum PreferError {
    /// A built-in shape has nothing to begin with.
    #[error(
        "`tiny` and `small` have no weights yet; give a run of `rl sft`, or a model's folder or name"
    )]
    NoPolicy,
    /// The user's pairs cannot be read.
    #[error(transparent)]
    Data(#[from] RecordsError),
    /// Too few pairs for two parts.
    #[error(transparent)]
    NothingHeldOut(#[from] NothingHeldOut),
    /// Every pair is longer than the context.
    #[error(
        "no pair to train on, or none to validate on, fits into `context = {0}` tokens; set a larger \
         `context`, or give shorter pairs"
    )]
    NothingFits(usize),
    /// The run's files do not belong together.
    #[error(
        "`{path}` has the reference's log-probabilities of other pairs than those of `--data`, or is \
         damaged; give the same files again, or choose another `--out`"
    )]
    OtherPairs {
        /// The file with log-probabilities.
        path: Utf8PathBuf,
    },
    /// A run is continued without what it began with.
    #[error(
        "`{0}` is gone, and the reference is what the run began with; start it anew in another `--out`"
    )]
    NoReference(Utf8PathBuf),
    /// A pair could not be laid out.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A checkpoint could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The update could not be made.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// A file of the run could not be written.
    #[error("failed to write the run's files")]
    Io(#[from] std::io::Error),
}
