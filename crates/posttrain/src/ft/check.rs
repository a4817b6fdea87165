//! What a stage found: the line that is written down for it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The stages of an experiment, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The planner answers.
    Planner,
    /// Script and settings are read, and nothing of them is run.
    Static,
    /// The script is run with `--debug`.
    Debug,
    /// A few samples are trained on.
    Mini,
    /// The losses of that training are looked at.
    Sanity,
    /// The script makes all of the data.
    Data,
    /// The training.
    Train,
    /// The model is scored.
    Evaluate,
}

impl Stage {
    /// The name as in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Static => "static",
            Self::Debug => "debug",
            Self::Mini => "mini",
            Self::Sanity => "sanity",
            Self::Data => "data",
            Self::Train => "train",
            Self::Evaluate => "evaluate",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What has to change after a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ErrorClass {
    /// The training settings.
    Config,
    /// What needs more memory than there is.
    Oom,
    /// The script, or the data that it makes.
    Data,
    /// The machine, or what is installed on it.
    Env,
    /// The planner's answer.
    Planner,
}

/// Why a stage did not let an experiment pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(deny_unknown_fields)]
#[error("{message}")]
pub struct Rejection {
    /// What has to change.
    pub class: ErrorClass,
    /// What was expected, what was found, and what to do.
    pub message: String,
}

impl Rejection {
    /// A rejection of this class.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }
}

/// How a stage ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum CheckOutcome {
    /// Nothing was found.
    Passed,
    /// Something was found that the planner should know and that stops nothing.
    Warned {
        /// What was found.
        messages: Vec<String>,
    },
    /// The experiment goes no further.
    Rejected {
        /// What has to change.
        class: ErrorClass,
        /// What was found, and what to do.
        message: String,
    },
}

/// A stage of an experiment.
///
/// # Examples
/// ```rust
/// use posttrain::ft::{Check, CheckOutcome, Stage};
///
/// let check = Check { stage: Stage::Mini, outcome: CheckOutcome::Passed, seconds: 1.5 };
/// let line = serde_json::to_string(&check)?;
/// assert_eq!(line, r#"{"stage":"mini","outcome":{"outcome":"passed"},"seconds":1.5}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Which stage.
    pub stage: Stage,
    /// How it ended.
    pub outcome: CheckOutcome,
    /// How long it took.
    pub seconds: f64,
}

impl Check {
    /// The check of a stage that ended so after `seconds`; `Ok` holds its warnings.
    pub(super) fn of(stage: Stage, found: Result<Vec<String>, Rejection>, seconds: f64) -> Self {
        let outcome = match found {
            Ok(messages) if messages.is_empty() => CheckOutcome::Passed,
            Ok(messages) => CheckOutcome::Warned { messages },
            Err(Rejection { class, message }) => CheckOutcome::Rejected { class, message },
        };
        Self { stage, outcome, seconds }
    }

    /// Why the experiment goes no further; `None` if it does.
    pub fn rejection(&self) -> Option<Rejection> {
        match &self.outcome {
            CheckOutcome::Rejected { class, message } => Some(Rejection::new(*class, message)),
            CheckOutcome::Passed | CheckOutcome::Warned { .. } => None,
        }
    }
}
