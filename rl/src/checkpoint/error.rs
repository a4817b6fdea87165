//! Why a checkpoint could not be written or read.

use super::store::{OLDEST, VERSION};
use crate::checkpoint::policy::PolicyError;
use crate::model::LoadError;
use crate::optim::OptimError;
use crate::text::tokenizer::TokenizerError;
use camino::Utf8PathBuf;

/// Why a checkpoint could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// A file could not be read or written.
    #[error("failed to read or write a checkpoint")]
    Io(#[from] std::io::Error),
    /// A checkpoint could not be written.
    #[error(
        "failed to save the checkpoint of step {step}{}",
        .last_good.as_ref().map_or(String::new(), |good| format!("; `{good}` is whole, and the same command goes on from it"))
    )]
    Save {
        /// The step of the checkpoint.
        step: u64,
        /// The newest checkpoint that is there.
        last_good: Option<Utf8PathBuf>,
        /// The error that stopped the save.
        #[source]
        source: Box<CheckpointError>,
    },
    /// The newest checkpoint of a run cannot be used.
    #[error(
        "the newest checkpoint of the run, `{newest}`, is damaged{}",
        .older.as_ref().map_or("; no other is whole, so start anew with another `--out`".to_owned(), |older| format!("; `{older}` is whole: to go on from there, add `--resume {older}`"))
    )]
    Damaged {
        /// The folder of the damaged checkpoint.
        newest: Utf8PathBuf,
        /// The newest one that is whole.
        older: Option<Utf8PathBuf>,
        /// What is wrong with it.
        #[source]
        source: Box<CheckpointError>,
    },
    /// The run has no such checkpoint.
    #[error("the run has no checkpoint `{wanted}`; it has {}", list(.there))]
    NotOfRun {
        /// As it was named.
        wanted: String,
        /// The checkpoints that the run has.
        there: Vec<Utf8PathBuf>,
    },
    /// The file is of another version.
    #[error(
        "`{path}` has version {found}, and this build reads versions {OLDEST} to {VERSION}: finish the run with the build that began it, or begin another with that folder as `--model` and another `--out`"
    )]
    Version {
        /// The path of `training.json`.
        path: Utf8PathBuf,
        /// The version that was found.
        found: u32,
    },
    /// `training.json` is not what it should be.
    #[error("failed to parse `{path}`; was it written by another version, or by another command?")]
    Training {
        /// The path of `training.json`.
        path: Utf8PathBuf,
        /// The parser's error, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// The model could not be read or written.
    #[error(transparent)]
    Model(#[from] LoadError),
    /// The tokenizer could not be read or written.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// Its policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The learner that has the weights on other machines failed.
    #[error("failed to save or restore the state of the learner on other machines")]
    Learner(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The optimizer's state does not fit.
    #[error(transparent)]
    Optimizer(#[from] OptimError),
}

fn list(folders: &[Utf8PathBuf]) -> String {
    let names: Vec<String> = folders.iter().map(|folder| format!("`{folder}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
