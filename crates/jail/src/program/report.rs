//! How a program ended.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How a program ended, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramReport {
    /// Why it ended.
    pub cause: EndCause,
    /// How its first process ended.
    pub how: ExitHow,
    /// Processes that the kernel killed because memory ran out; 0 without control groups.
    pub killed_for_memory: u64,
    /// Whether it printed more than is kept.
    pub output_cut: bool,
}

/// What a caller wants of a running program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directive {
    /// It works.
    Work,
    /// It is stopped until it is to work again, and gets no processor time.
    Rest,
    /// It ends.
    End,
}

/// Why a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum EndCause {
    /// Its first process ended by itself.
    Itself,
    /// The caller asked for it.
    Asked,
    /// It filled its folders, or the disk with them.
    Disk {
        /// What was found.
        found: String,
    },
}

/// How the first process of a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitHow {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was killed with everything else, because it did not end when it was asked to.
    Killed,
}

impl fmt::Display for ProgramReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            EndCause::Itself => f.write_str("it ended by itself")?,
            EndCause::Asked => f.write_str("it was asked to end")?,
            EndCause::Disk { found } => write!(f, "it was ended because {found}")?,
        }
        match self.how {
            ExitHow::Exited(code) => write!(f, ", with code {code}"),
            ExitHow::Signalled(signal) => write!(f, ", by signal {signal}"),
            ExitHow::Killed => f.write_str(", and was killed"),
        }
    }
}
