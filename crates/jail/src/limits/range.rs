//! Which values of a limit make sense.
//!
//! The least of each lets an empty script run, or nearly; the most is far beyond any host, and
//! small enough that sums of limits do not overflow.

use super::{Keep, RunLimits};
use std::fmt;
use std::time::Duration;
use tasks::units::{ByteSize, Span};

/// The accepted values of one limit, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range<T> {
    /// The smallest accepted value.
    pub least: T,
    /// The largest accepted value.
    pub most: T,
}

const fn range<T: Copy>(least: T, most: T) -> Range<T> {
    Range { least, most }
}

const TIB: u64 = 1 << 40;

/// Of `time_limit`: a script with no time cannot begin.
pub const TIME_LIMIT: Range<Span> =
    range(Span(Duration::from_millis(1)), Span(Duration::from_hours(24)));
/// Of `memory`: with less, not even a short list can be made.
pub const MEMORY: Range<ByteSize> = range(ByteSize::mib(1), ByteSize::new(16 * TIB));
/// Of `processes`: the script itself is one.
pub const PROCESSES: Range<u64> = range(1, 32_768);
/// Of `cpus`, in processors: the most is beyond any host.
pub const CPUS: Range<u64> = range(1, 4096);
/// Of `open_files`: the jail is built under this limit, and takes some before the script begins.
pub const OPEN_FILES: Range<u64> = range(64, 1 << 20);
/// Of `file_size`, in bytes of one file.
pub const FILE_SIZE: Range<ByteSize> = range(ByteSize::kib(1), ByteSize::new(16 * TIB));
/// Of `scratch`: the kernel counts in pages, and this is one.
pub const SCRATCH: Range<ByteSize> = range(ByteSize::kib(4), ByteSize::new(TIB));
/// Of each end of `stdout` and `stderr`. Nothing may be kept; what is kept is held in memory.
pub const KEEP: Range<ByteSize> = range(ByteSize::new(0), ByteSize::mib(256));
/// Of `output_limit`: less would not hold a traceback.
pub const OUTPUT_LIMIT: Range<ByteSize> = range(ByteSize::kib(1), ByteSize::new(TIB));
/// Of the size of a work dir, [`crate::exec::SandboxOptions::work_dir`].
pub const WORK_DIR: Range<ByteSize> = range(ByteSize::kib(4), ByteSize::new(TIB));
/// Of the files in a work dir, [`crate::exec::SandboxOptions::work_files`]: two of them are the
/// folder itself and `input`.
pub const WORK_FILES: Range<u64> = range(16, 1 << 30);

/// A limit outside of what makes sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is {given}; it must be {accepted}")]
pub struct OutOfRange {
    /// The limit, as in a policy: `time_limit`, `stdout.head`.
    pub field: &'static str,
    given: String,
    /// The accepted values, in words.
    pub accepted: String,
}

impl<T: PartialOrd + fmt::Display> Range<T>
where
    Self: fmt::Display,
{
    /// Whether `given` is in it.
    pub fn contains(&self, given: &T) -> bool {
        (&self.least..=&self.most).contains(&given)
    }

    /// Makes sure that the value of `field` is in it.
    ///
    /// # Errors
    /// [`OutOfRange`], with the field, its value and what is accepted.
    pub fn check(&self, field: &'static str, given: &T) -> Result<(), OutOfRange> {
        if self.contains(given) {
            return Ok(());
        }
        Err(OutOfRange { field, given: given.to_string(), accepted: self.to_string() })
    }
}

impl fmt::Display for Range<u64> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.least, self.most)
    }
}

impl fmt::Display for Range<ByteSize> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.least, self.most)
    }
}

impl fmt::Display for Range<Span> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}h", self.least, self.most.0.as_secs() / 3600)
    }
}

impl RunLimits {
    /// Makes sure that every limit makes sense.
    ///
    /// # Errors
    /// [`OutOfRange`] for the first that does not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let Keep { head: stdout_head, tail: stdout_tail } = &self.stdout;
        let Keep { head: stderr_head, tail: stderr_tail } = &self.stderr;
        TIME_LIMIT.check("time_limit", &self.time_limit)?;
        MEMORY.check("memory", &self.memory)?;
        PROCESSES.check("processes", &self.processes)?;
        if let Some(cpus) = self.cpus {
            CPUS.check("cpus", &cpus.get().into())?;
        }
        OPEN_FILES.check("open_files", &self.open_files)?;
        FILE_SIZE.check("file_size", &self.file_size)?;
        SCRATCH.check("scratch", &self.scratch)?;
        KEEP.check("stdout.head", stdout_head)?;
        KEEP.check("stdout.tail", stdout_tail)?;
        KEEP.check("stderr.head", stderr_head)?;
        KEEP.check("stderr.tail", stderr_tail)?;
        OUTPUT_LIMIT.check("output_limit", &self.output_limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::SandboxOptions;

    #[test]
    fn defaults_are_in_range_and_other_values_are_refused_by_name() {
        assert_eq!(RunLimits::default().check(), Ok(()));
        let SandboxOptions { work_dir, work_files, .. } = SandboxOptions::default();
        assert!(WORK_DIR.contains(&work_dir) && WORK_FILES.contains(&work_files));
        let SandboxOptions { work_dir, work_files, .. } = SandboxOptions::benchmark();
        assert!(WORK_DIR.contains(&work_dir) && WORK_FILES.contains(&work_files));

        let some = RunLimits::default;
        let said = |policy: RunLimits| policy.check().unwrap_err().to_string();
        assert_eq!(
            said(RunLimits { time_limit: Span::seconds(0), ..some() }),
            "`time_limit` is 0s; it must be 1ms to 24h"
        );
        assert_eq!(
            said(RunLimits { memory: ByteSize::new(0), ..some() }),
            "`memory` is 0; it must be 1MiB to 16384GiB"
        );
        let large = Keep { tail: ByteSize::gib(1), ..some().stderr };
        for (policy, field) in [
            (RunLimits { processes: 0, ..some() }, "processes"),
            (RunLimits { open_files: 3, ..some() }, "open_files"),
            (RunLimits { file_size: ByteSize::new(0), ..some() }, "file_size"),
            (RunLimits { scratch: ByteSize::new(4095), ..some() }, "scratch"),
            (RunLimits { output_limit: ByteSize::new(0), ..some() }, "output_limit"),
            (RunLimits { stderr: large, ..some() }, "stderr.tail"),
        ] {
            assert_eq!(policy.check().unwrap_err().field, field);
        }
    }
}
