//! Runs of programs that a policy wrote: the one thing that environments need from outside.
//!
//! This crate writes scripts and reads what they printed. Who plays an environment that needs runs
//! hands in a [`Runner`], usually a [`Sandbox`].

use jail::exec::{Fault, Outcome, Sandbox};
use jail::limits::{Keep, RunLimits};
use std::fmt::Debug;
use std::time::Duration;
use tasks::units::{ByteSize, Span};

/// What a program may use, and what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramRules {
    /// Wall time.
    pub time_limit: Span,
    /// Memory.
    pub memory: ByteSize,
    /// A Python package that the sandbox must have.
    pub module: Option<PythonModule>,
}

/// A Python package that is not among those of every sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PythonModule {
    /// The name that is imported.
    pub name: &'static str,
    /// The command that installs it into the sandbox's Python.
    pub install: &'static str,
    /// What a sandbox that is started for such programs should import before they begin.
    pub preload: &'static [&'static str],
}

impl ProgramRules {
    /// Programs that take microseconds: 3 seconds, as in the released evaluation of HumanEval, and
    /// 512 MiB.
    pub const SHORT: Self =
        Self { time_limit: Span::seconds(3), memory: ByteSize::mib(512), module: None };
}

/// What is kept of the end of its output, where results are.
const KEPT: ByteSize = ByteSize::kib(64);

/// A run of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramRun {
    /// How it ended.
    pub outcome: Outcome,
    /// The end of what it printed, as text.
    pub printed: String,
    /// Wall time.
    pub wall: Duration,
}

impl ProgramRun {
    /// What went wrong before a program could say anything, as a tag; `None` if it came to its end.
    pub(crate) fn mistake(&self) -> Option<&'static str> {
        match &self.outcome {
            Outcome::Finished => None,
            Outcome::Raised { exception } => {
                let is_syntax =
                    matches!(exception.as_str(), "SyntaxError" | "IndentationError" | "TabError");
                Some(if is_syntax { "syntax" } else { "raised" })
            }
            Outcome::Exited { .. } => Some("no_result"),
            Outcome::TimedOut => Some("timeout"),
            Outcome::OutOfMemory
            | Outcome::DiskLimit
            | Outcome::OutputLimit
            | Outcome::Killed { .. } => Some("limit"),
        }
    }

    /// Whether the same script would end so again: no clock, limit or signal had a part in it.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self.outcome, Outcome::Finished | Outcome::Raised { .. } | Outcome::Exited { .. })
    }
}

/// Runs Python that nobody trusts.
pub trait Runner: Debug + Send + Sync {
    /// Runs a script to its end or limits, in a work dir of its own.
    ///
    /// # Errors
    /// A [`Fault`] of the runner. Whatever the script does is an [`Outcome`].
    fn run(&self, script: &str, rules: &ProgramRules) -> Result<ProgramRun, Fault>;
}

/// The script has 8 processes.
impl Runner for Sandbox {
    fn run(&self, script: &str, rules: &ProgramRules) -> Result<ProgramRun, Fault> {
        let keep = Keep { head: ByteSize::new(0), tail: KEPT };
        let limits = RunLimits {
            time_limit: rules.time_limit,
            memory: rules.memory,
            processes: 8,
            stdout: keep,
            ..RunLimits::default()
        };
        let run = self.empty_workspace()?.run(script, &limits)?;
        let (head, tail) = run.stdout.kept();
        let printed = String::from_utf8_lossy(&tail.unwrap_or(head)).into_owned();
        Ok(ProgramRun { outcome: run.outcome, printed, wall: run.wall })
    }
}
