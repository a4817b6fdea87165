//! What is said to an agent about a submission that cannot be evaluated.

use serde::{Deserialize, Serialize};

/// Why a submission is not evaluable: a mistake of the agent, with what to do about it. What goes wrong
/// on our side is a `Fault`, and never an agent's zero.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The kind of mistake, for programs.
    pub code: RefusalCode,
    /// What was expected, what was found, and what to do.
    pub message: String,
}

/// The kinds of mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The path is not below the output folder.
    Path,
    /// There is no such folder, or a file that a model needs is not in it.
    Missing,
    /// A link, a named pipe, a device, a socket.
    Special,
    /// More files or larger ones than a model has.
    TooLarge,
    /// Weights in a form that runs code when it is loaded.
    Pickle,
    /// A file of code, or a configuration that asks for code.
    Code,
    /// `config.json` cannot be read, or is of another model.
    Config,
    /// A file of weights is damaged.
    Damaged,
    /// Tensors are missing, of another shape or of an unknown type.
    Shape,
    /// A weight is NaN or infinite.
    NotFinite,
    /// An adapter that cannot be merged into the base.
    Adapter,
    /// The evaluation cannot load or run the model.
    Model,
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(code: RefusalCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}
