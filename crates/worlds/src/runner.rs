//! Runs of programs that a policy wrote: the one thing that environments need from outside.
//!
//! This crate writes scripts and reads what they printed. Who plays an environment that needs runs
//! hands in a [`Runner`], usually a [`Sandbox`].

use jail::exec::{Fault, Outcome, Sandbox};
use jail::limits::{Keep, RunLimits};
use std::fmt::Debug;
use std::time::Duration;
use tasks::units::{ByteSize, Span};

/// Wall time of a program, as in the released evaluation of HumanEval. The programs that are asked
/// for take microseconds.
const TIME_LIMIT: Span = Span::seconds(3);
/// Memory of a program.
const MEMORY: ByteSize = ByteSize::mib(512);
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
    /// Whether the same script would end so again: no clock, limit or signal had a part in it.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self.outcome, Outcome::Finished | Outcome::Raised { .. } | Outcome::Exited { .. })
    }
}

/// Runs Python that nobody trusts.
pub trait Runner: Debug + Send + Sync {
    /// Runs a script to its end, in a work dir of its own.
    ///
    /// # Errors
    /// A [`Fault`] of the runner. Whatever the script does is an [`Outcome`].
    fn run(&self, script: &str) -> Result<ProgramRun, Fault>;
}

/// The script has 3 seconds, 512 MiB of memory and 8 processes.
impl Runner for Sandbox {
    fn run(&self, script: &str) -> Result<ProgramRun, Fault> {
        let keep = Keep { head: ByteSize::new(0), tail: KEPT };
        let limits = RunLimits {
            time_limit: TIME_LIMIT,
            memory: MEMORY,
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
