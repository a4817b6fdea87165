//! Failures of commands: usage errors of the caller, or faults of the program or the host.

use super::exit;
use super::output::{self, OutputError};
use super::report::Ungradable;
use jail::exec::{Fault, StartError};
use jail::python::PythonError;
use sandbox::serve::ServeError;
use serde::Serialize;
use serde_json::json;
use tasks::grade::GradeError;
use tasks::task::TaskError;

/// A mistake of the caller: what was to be done with which argument, and why it cannot be.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct UsageError {
    what: String,
    #[source]
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl UsageError {
    /// One that needs no further reason.
    pub(crate) fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), source: None }
    }

    /// Wraps an error with a sentence, for `map_err`.
    pub(crate) fn at<E>(what: impl Into<String>) -> impl FnOnce(E) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        move |source| Self { what: what.into(), source: Some(source.into()) }
    }
}

/// What failed, as the key `kind` of a fault in JSON; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FailureKind {
    /// An argument: nothing is wrong with the program or the host.
    Usage,
    /// There is no Python that scripts can be run with.
    Python,
    /// Parts of this program are not where they should be.
    Program,
    /// A layer of protection is down.
    Layer,
    /// The host has not the GPUs that are asked for.
    Gpus,
    /// A task is damaged, exposed, or cannot be graded.
    Task,
    /// The sandbox broke at work.
    Sandbox,
    /// The answer or a file could not be written.
    Output,
    /// An error of none of the kinds above.
    Internal,
}

impl FailureKind {
    /// Of an error, by the first of its reasons that is known.
    fn from_error(error: &anyhow::Error) -> Self {
        error.chain().find_map(Self::from_cause).unwrap_or(Self::Internal)
    }

    fn from_cause(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        if error.is::<UsageError>() {
            return Some(Self::Usage);
        }
        if let Some(error) = error.downcast_ref::<StartError>() {
            return Some(match error {
                StartError::Python(_) => Self::Python,
                StartError::NoLauncher { .. } | StartError::NoLibrary { .. } => Self::Program,
                StartError::Task { .. } | StartError::Exposed { .. } => Self::Task,
                StartError::IsolationLevel { .. } | StartError::Layer { .. } => Self::Layer,
                StartError::Fault(fault) => Self::from_fault(fault),
                StartError::Weights { .. } => Self::Usage,
                StartError::Limit(_) | StartError::Zygote { .. } => Self::Sandbox,
            });
        }
        if let Some(error) = error.downcast_ref::<TaskError>() {
            return Some(match error {
                TaskError::BadId(_)
                | TaskError::NoTask(_)
                | TaskError::NoCorpus(_)
                | TaskError::EmptyCorpus(_)
                | TaskError::ForeignCorpus(_)
                | TaskError::OtherKind { .. } => Self::Usage,
                _ => Self::Task,
            });
        }
        if let Some(fault) = error.downcast_ref::<Fault>() {
            return Some(Self::from_fault(fault));
        }
        if let Some(error) = error.downcast_ref::<ServeError>() {
            return Some(match error {
                ServeError::Listen { .. } | ServeError::Records(_) | ServeError::Runtime(_) => {
                    Self::Internal
                }
                // Settings that do not fit each other or the tasks.
                _ => Self::Usage,
            });
        }
        if error.is::<GradeError>() || error.is::<Ungradable>() {
            return Some(Self::Task);
        }
        if error.is::<PythonError>() {
            return Some(Self::Python);
        }
        error.is::<OutputError>().then_some(Self::Output)
    }

    fn from_fault(fault: &Fault) -> Self {
        match fault {
            Fault::NoGpu(_) => Self::Gpus,
            Fault::Layer { .. } | Fault::NeedsGroups(_) | Fault::NoSessions(_) => Self::Layer,
            _ => Self::Sandbox,
        }
    }

    /// What to do about it, where that is the same each time.
    fn hint(self) -> Option<&'static str> {
        match self {
            Self::Usage => Some("`sandbox help` and `sandbox COMMAND --help` list what is taken"),
            Self::Python => Some(
                "make an environment with `make venv`, or name an interpreter that has numpy, \
                 pandas and scikit-learn in MLE_PYTHON",
            ),
            Self::Program => Some("build the program and its library: `cargo build -p sandbox`"),
            Self::Layer => Some("`sandbox check` says which layers are up, and why one is not"),
            Self::Gpus => Some("`sandbox check` says which GPUs scripts may use here"),
            Self::Task => Some("restore the task's folder, or make its corpus again"),
            Self::Sandbox => Some("try again; RUST_LOG=debug shows what happened before"),
            Self::Output | Self::Internal => None,
        }
    }

    /// The exit code of a program that fails with it: 1 for faults, 2 for mistakes of the caller.
    pub(crate) fn code(self) -> u8 {
        if self == Self::Usage { exit::USAGE } else { exit::FAULT }
    }
}

/// A failure as JSON, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FailureReport {
    pub(crate) kind: FailureKind,
    /// The error with all its reasons.
    pub(crate) message: String,
    hint: Option<&'static str>,
}

impl From<&anyhow::Error> for FailureReport {
    fn from(error: &anyhow::Error) -> Self {
        let kind = FailureKind::from_error(error);
        Self { kind, message: format!("{error:#}"), hint: kind.hint() }
    }
}

/// Reports an error that ends the program: in words on standard error and, if asked for, as an
/// object on standard output. The exit code.
pub(crate) fn report(error: &anyhow::Error, json: bool) -> u8 {
    if error.chain().any(|cause| matches!(cause.downcast_ref(), Some(OutputError::Closed))) {
        return exit::CLOSED;
    }
    let failure = FailureReport::from(error);
    output::note(&format!("error: {}", failure.message));
    // Of an answer that cannot be written there is no second try.
    if json
        && failure.kind != FailureKind::Output
        && let Err(OutputError::Closed) = output::json(&json!({ "fault": failure }))
    {
        return exit::CLOSED;
    }
    failure.kind.code()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn usage_errors_and_faults_differ_under_any_context() {
        let kind = |error: anyhow::Error| FailureReport::from(&error).kind;
        let mistake = || UsageError::at("failed to read the script")(std::io::Error::other("why"));
        assert_eq!(kind(mistake().into()), FailureKind::Usage);
        assert_eq!(
            format!("{:#}", anyhow::Error::new(mistake())),
            "failed to read the script: why"
        );
        let started = || Err::<(), _>(StartError::from(Fault::Abandoned)).context("no sandbox");
        assert_eq!(kind(started().unwrap_err()), FailureKind::Sandbox);
        let unknown = || Err::<(), _>(TaskError::NoTask("x".into())).context("failed to open");
        assert_eq!(kind(unknown().unwrap_err()), FailureKind::Usage);
        let damaged = TaskError::Io(std::io::Error::other("why"));
        assert_eq!(kind(anyhow::Error::new(damaged).context("failed to open")), FailureKind::Task);
        assert_eq!(kind(anyhow::anyhow!("no idea")), FailureKind::Internal);
        assert_eq!((FailureKind::Usage.code(), FailureKind::Task.code()), (2, 1));
    }
}
