//! The outcome of a run: how it ended, what it printed, time and memory.

use crate::exec::capture::Captured;
use crate::isolation::IsolationLevel;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How a script ended. The script causes all of these; errors of the sandbox are a
/// [`Fault`](crate::exec::Fault).
///
/// # Examples
/// ```rust
/// use jail::exec::Outcome;
///
/// let outcome = Outcome::Raised { exception: "ValueError".to_owned() };
/// assert_eq!(outcome.to_string(), "raised ValueError");
/// assert_eq!("was killed by signal 11".parse(), Ok(Outcome::Killed { signal: 11 }));
/// assert!(!outcome.is_finished());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran to its end, or exited with code 0.
    Finished,
    /// An exception reached the top; the traceback is on standard error.
    Raised {
        /// Name of the exception's type.
        exception: String,
    },
    /// It exited with a code other than 0.
    Exited {
        /// The exit code, as `sys.exit` got it.
        code: i32,
    },
    /// It was still running at its deadline and was killed.
    TimedOut,
    /// An allocation beyond the memory limit reached the top as an error, its processes together
    /// held too much, or the kernel killed one of them because their control group was full.
    OutOfMemory,
    /// A write beyond the size of the work dir, of `/tmp` or of a file reached the top as an
    /// error.
    DiskLimit,
    /// It printed more than the output limit and was killed.
    OutputLimit,
    /// A signal ended it: a crash, or one it sent itself.
    Killed {
        /// Number of the signal, such as 11.
        signal: i32,
    },
}

impl Outcome {
    /// Whether the script ran to its end.
    pub fn is_finished(&self) -> bool {
        *self == Self::Finished
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "finished"),
            Self::Raised { exception } => write!(f, "raised {exception}"),
            Self::Exited { code } => write!(f, "exited with code {code}"),
            Self::TimedOut => write!(f, "timed out"),
            Self::OutOfMemory => write!(f, "ran out of memory"),
            Self::DiskLimit => write!(f, "ran out of disk space"),
            Self::OutputLimit => write!(f, "printed too much"),
            Self::Killed { signal } => write!(f, "was killed by signal {signal}"),
        }
    }
}

/// A text that is not the [`Display`](fmt::Display) form of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an outcome of a script")]
pub struct UnknownOutcome(String);

/// Reads what [`fmt::Display`] writes.
impl FromStr for Outcome {
    type Err = UnknownOutcome;
    fn from_str(text: &str) -> Result<Self, UnknownOutcome> {
        let after = |prefix: &str| text.strip_prefix(prefix);
        let number = |prefix: &str| after(prefix).and_then(|number| number.parse().ok());
        match text {
            "finished" => return Ok(Self::Finished),
            "timed out" => return Ok(Self::TimedOut),
            "ran out of memory" => return Ok(Self::OutOfMemory),
            "ran out of disk space" => return Ok(Self::DiskLimit),
            "printed too much" => return Ok(Self::OutputLimit),
            _ => {}
        }
        if let Some(exception) = after("raised ") {
            return Ok(Self::Raised { exception: exception.to_owned() });
        }
        if let Some(code) = number("exited with code ") {
            return Ok(Self::Exited { code });
        }
        if let Some(signal) = number("was killed by signal ") {
            return Ok(Self::Killed { signal });
        }
        Err(UnknownOutcome(text.to_owned()))
    }
}

/// One run of a script, from start to end.
#[derive(Debug, Clone, Serialize)]
pub struct Run {
    /// How the script ended.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The kept part of standard output.
    pub stdout: Captured,
    /// The kept part of standard error.
    pub stderr: Captured,
    /// Time from the start of the script until its last process was gone.
    #[serde(serialize_with = "seconds")]
    pub wall: Duration,
    /// Processor time of the script and of those children it waited for.
    #[serde(serialize_with = "seconds")]
    pub cpu: Duration,
    /// Bytes of the largest resident set, the warmed interpreter's own included.
    pub peak_memory: u64,
    /// The isolation level of the jail.
    pub tier: IsolationLevel,
    /// Whether the interpreter, with all variables, is kept for the next run: only in
    /// [`crate::exec::Mode::Session`].
    pub kept: bool,
}

fn seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_read_back_from_text_and_json() {
        let outcomes = [
            Outcome::Finished,
            Outcome::Raised { exception: "ValueError".to_owned() },
            Outcome::Exited { code: -3 },
            Outcome::TimedOut,
            Outcome::OutOfMemory,
            Outcome::DiskLimit,
            Outcome::OutputLimit,
            Outcome::Killed { signal: 11 },
        ];
        for outcome in outcomes {
            assert_eq!(outcome.to_string().parse(), Ok(outcome.clone()));
            let json = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&json).unwrap(), outcome);
        }
        assert!("exited with code x".parse::<Outcome>().is_err());
    }
}
