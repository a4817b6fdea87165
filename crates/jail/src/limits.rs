//! The limits of a run: typed, with units, defaults and reasons.

pub mod range;

use crate::isolation::rlimits::ResourceLimits;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;
use tasks::units::{ByteSize, Span, UnitError};

/// The limits of one run.
///
/// | field | purpose | default |
/// | --- | --- | --- |
/// | `time_limit` | wall-clock time, from the start of the script | 90 s |
/// | `memory` | memory of each process, and of all together, beyond the warmed interpreter's | 2 GiB |
/// | `processes` | processes and threads of the run together | 64 |
/// | `cpus` | processors' worth of time; without it, a fair share of all | none |
/// | `gpus` | the GPUs of the host that it may use: `none`, `all`, or indices such as `0,2` | none |
/// | `open_files` | open descriptors per process | 256 |
/// | `file_size` | size of one file | 256 MiB |
/// | `scratch` | size of `/tmp`, and of `/dev/shm`; both are new for each run | 64 MiB |
/// | `stdout`, `stderr` | what is kept of the streams: head and tail | 16 + 16 KiB each |
/// | `output_limit` | bytes over both streams after which the run is killed | 16 MiB |
///
/// The size of the work dir belongs to the episode, not to a run: see
/// [`crate::exec::SandboxOptions::work_dir`].
///
/// Any value can be written here. What comes from a file or a flag goes through
/// [`RunLimits::check`] first; [`range`] has the accepted values.
///
/// # Examples
/// ```rust
/// use jail::limits::RunLimits;
/// use tasks::units::{ByteSize, Span};
///
/// // What is not given keeps its default.
/// let limits: RunLimits = serde_json::from_str(r#"{"time_limit": "5s", "memory": "512MiB"}"#)?;
/// assert_eq!(limits.time_limit, Span::seconds(5));
/// assert_eq!(limits.processes, RunLimits::default().processes);
/// limits.check()?;
///
/// let error = RunLimits { memory: ByteSize::new(0), ..limits }.check().unwrap_err();
/// assert_eq!(error.to_string(), "`memory` is 0; it must be 1MiB to 16384GiB");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunLimits {
    /// Wall-clock time, from the start of the script to the end of its last process.
    pub time_limit: Span,
    /// Memory beyond what the warmed interpreter already uses: private writable memory of each
    /// process, and resident memory of all processes of the run together (added up every 50 ms; in tier 1
    /// the kernel bounds it at any moment, with what the work dir and `/tmp` may hold on top).
    pub memory: ByteSize,
    /// Processes and threads of the run together.
    pub processes: u64,
    /// Processors' worth of time, at least 1. Without it runs share all processors fairly. Only
    /// tier 1 can hold a run to it; in others it is refused.
    pub cpus: Option<NonZeroU32>,
    /// GPUs that the run may use. They open the driver's whole surface to a script and bound
    /// nothing on the device; `docs/THREATS.md` says what else changes. A host that has not all
    /// of them refuses the run.
    pub gpus: Gpus,
    /// Open descriptors per process.
    pub open_files: u64,
    /// Size of one file.
    pub file_size: ByteSize,
    /// Size of `/tmp`, and of `/dev/shm`.
    pub scratch: ByteSize,
    /// What is kept of standard output.
    pub stdout: Keep,
    /// What is kept of standard error.
    pub stderr: Keep,
    /// Bytes written to both streams after which the run is killed.
    pub output_limit: ByteSize,
}

impl Default for RunLimits {
    fn default() -> Self {
        let keep = Keep { head: ByteSize::kib(16), tail: ByteSize::kib(16) };
        Self {
            time_limit: Span::seconds(90),
            memory: ByteSize::gib(2),
            processes: 64,
            cpus: None,
            gpus: Gpus::None,
            open_files: 256,
            file_size: ByteSize::mib(256),
            scratch: ByteSize::mib(64),
            stdout: keep,
            stderr: keep,
            output_limit: ByteSize::mib(16),
        }
    }
}

impl RunLimits {
    /// For competitions of benchmarks, whose scripts train models for hours on large data: 4 hours,
    /// memory 64 GiB, 4096 processes, 4096 open files, files of 64 GiB, and 8 GiB each for `/tmp`
    /// and `/dev/shm`. The sandbox is started with
    /// [`SandboxOptions::benchmark`](crate::exec::SandboxOptions::benchmark).
    pub fn benchmark() -> Self {
        Self {
            time_limit: Span(Duration::from_hours(4)),
            memory: ByteSize::gib(64),
            processes: 4096,
            open_files: 4096,
            file_size: ByteSize::gib(64),
            scratch: ByteSize::gib(8),
            ..Self::default()
        }
    }

    /// In words, that a run may take more memory than the host has; `None` if it may not. Nothing
    /// is lowered for that: a run that takes all there is ends when the host's memory runs out.
    pub fn beyond_host(&self) -> Option<String> {
        let about = rustix::system::sysinfo();
        let host = ByteSize::new(about.totalram.saturating_mul(about.mem_unit.into()));
        (self.memory > host)
            .then(|| format!("a run may take {} of memory, and this host has {host}", self.memory))
    }

    /// The part that the kernel enforces through resource limits.
    pub(crate) fn limits(&self) -> ResourceLimits {
        ResourceLimits {
            memory: self.memory.bytes(),
            processes: self.processes,
            file_size: self.file_size.bytes(),
            open_files: self.open_files,
        }
    }
}

/// GPUs of the host, written `none`, `all`, or as indices: `0,2`.
///
/// An index is that of a device node, `/dev/nvidia<index>` (`Minor Number` in `nvidia-smi -q`).
/// A script sees those that it may use numbered from 0.
///
/// # Examples
/// ```rust
/// use jail::limits::Gpus;
///
/// assert_eq!("0,2".parse(), Ok(Gpus::Only([0, 2].into())));
/// assert_eq!("none".parse(), Ok(Gpus::None));
/// assert!("0-2".parse::<Gpus>().is_err(), "ranges are not accepted");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Gpus {
    /// No GPU is visible.
    #[default]
    None,
    /// All that there are, at least one.
    All,
    /// These, at least one.
    Only(BTreeSet<u32>),
}

impl fmt::Display for Gpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::All => f.write_str("all"),
            Self::Only(indices) => {
                let indices: Vec<_> = indices.iter().map(ToString::to_string).collect();
                f.write_str(&indices.join(","))
            }
        }
    }
}

impl FromStr for Gpus {
    type Err = UnitError;
    fn from_str(given: &str) -> Result<Self, UnitError> {
        let indices = || given.split(',').map(str::parse).collect::<Result<_, _>>();
        match given {
            "none" => Ok(Self::None),
            "all" => Ok(Self::All),
            _ => indices().map(Self::Only).map_err(|_| {
                UnitError::new(given, "`none`, `all`, or indices of GPUs such as `0,2`")
            }),
        }
    }
}

/// It is a text in files.
impl JsonSchema for Gpus {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Gpus".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

impl Serialize for Gpus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// How much of a stream is kept: its beginning and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Bytes from the beginning.
    pub head: ByteSize,
    /// Bytes before the end.
    pub tail: ByteSize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_read_as_written() {
        for text in ["none", "all", "0", "0,2,11"] {
            assert_eq!(text.parse::<Gpus>().unwrap().to_string(), text);
        }
        assert_eq!("2,0,2".parse(), Ok(Gpus::Only([0, 2].into())));
        for wrong in ["", "0,", "-1", "some", "0-2", "0, 2", "99999999999"] {
            assert!(wrong.parse::<Gpus>().is_err(), "{wrong}");
        }
        assert_eq!(RunLimits::default().gpus, Gpus::None);
    }

    #[test]
    fn benchmark_limits_are_in_range_and_compared_with_the_host() {
        let limits = RunLimits::benchmark();
        assert_eq!(limits.check(), Ok(()));
        let of = |memory| RunLimits { memory, ..limits.clone() }.beyond_host();
        assert_eq!(of(ByteSize::mib(1)), None);
        let said = of(ByteSize::gib(16 << 10)).unwrap();
        assert!(
            said.starts_with("a run may take 16384GiB of memory, and this host has "),
            "{said}"
        );
    }

    #[test]
    fn a_policy_round_trips_and_partial_ones_keep_defaults() {
        let policy = RunLimits::default();
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<RunLimits>(&json).unwrap(), policy);
        let short: RunLimits = serde_json::from_str(r#"{"time_limit": "5s"}"#).unwrap();
        assert_eq!(short, RunLimits { time_limit: Span::seconds(5), ..policy });
        assert!(serde_json::from_str::<RunLimits>(r#"{"timelimit": "5s"}"#).is_err());
    }
}
