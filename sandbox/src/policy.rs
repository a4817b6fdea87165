//! What a run may use. Policy is data: typed, with units, defaults and reasons.

pub mod range;

use crate::jail::rlimits::Limits;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

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
/// [`crate::exec::Options::work_dir`].
///
/// Any value can be written here. What comes from a file or a flag goes through
/// [`Policy::check`] first; [`range`] has the accepted values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Wall-clock time, from the start of the script to the end of its last process.
    pub time_limit: Span,
    /// Memory beyond what the warmed interpreter already uses: address space of each process,
    /// and resident memory of all processes of the run together (added up every 50 ms; in tier 1
    /// the kernel bounds it at any moment, with what the work dir and `/tmp` may hold on top).
    pub memory: ByteSize,
    /// Processes and threads of the run together.
    pub processes: u64,
    /// Processors' worth of time, at least 1. Without it runs share all processors fairly. Only
    /// tier 1 can hold a run to it; in others it is refused.
    pub cpus: Option<NonZeroU32>,
    /// GPUs that the run may use. They open the driver's whole surface to a script and bound
    /// nothing on the device; `docs/THREATS.md` says what else changes. A host that has not all
    /// of them refuses the run. With GPUs, `memory` bounds what a process may write to, not its
    /// address space, of which CUDA reserves far more than it uses.
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

impl Default for Policy {
    fn default() -> Self {
        let keep = Keep { head: ByteSize::kib(16), tail: ByteSize::kib(16) };
        Self {
            time_limit: Span(Duration::from_secs(90)),
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

impl Policy {
    /// The part that the kernel enforces through resource limits.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            memory: self.memory.bytes(),
            reservations: self.gpus == Gpus::None,
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Gpus {
    /// None.
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
            _ => indices().map(Self::Only).map_err(|_| UnitError {
                given: given.to_owned(),
                expected: "`none`, `all`, or indices of GPUs such as `0,2`",
            }),
        }
    }
}

/// How much of a stream is kept: its beginning and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    /// Bytes from the beginning.
    pub head: ByteSize,
    /// Bytes before the end.
    pub tail: ByteSize,
}

/// A text that is no size, no duration or no choice of GPUs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {expected}")]
pub struct UnitError {
    given: String,
    expected: &'static str,
}

/// A number of bytes, written `512`, `64KiB`, `256MiB` or `2GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

impl ByteSize {
    const UNITS: [(&'static str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

    /// As many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// As many times 2^10 bytes.
    pub const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    /// As many times 2^20 bytes.
    pub const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// As many times 2^30 bytes.
    pub const fn gib(count: u64) -> Self {
        Self(count << 30)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// The number of bytes as a length in memory.
    pub(crate) fn length(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, unit): &&(&str, u64)| self.0 >= *unit && self.0.is_multiple_of(*unit);
        match Self::UNITS.iter().find(fits) {
            Some((name, unit)) => write!(f, "{}{name}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for ByteSize {
    type Err = UnitError;
    fn from_str(given: &str) -> Result<Self, UnitError> {
        let split =
            Self::UNITS.iter().find_map(|(name, unit)| Some((given.strip_suffix(name)?, *unit)));
        let (count, unit) = split.unwrap_or((given, 1));
        let bytes = count.trim().parse::<u64>().ok().and_then(|count| count.checked_mul(unit));
        let expected = "a size such as `512`, `64KiB`, `256MiB` or `2GiB`";
        bytes.map(Self).ok_or_else(|| UnitError { given: given.to_owned(), expected })
    }
}

/// A duration, written `250ms`, `90s`, `15m` or `2h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

impl Span {
    /// `ms` before `s` and `m`, which it ends or begins with.
    const UNITS: [(&'static str, u64); 4] =
        [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];

    /// So many seconds.
    pub const fn seconds(count: u64) -> Self {
        Self(Duration::from_secs(count))
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        if milliseconds.is_multiple_of(1000) {
            write!(f, "{}s", milliseconds / 1000)
        } else {
            write!(f, "{milliseconds}ms")
        }
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(given: &str) -> Result<Self, UnitError> {
        let split =
            Self::UNITS.iter().find_map(|(name, unit)| Some((given.strip_suffix(name)?, *unit)));
        let milliseconds = split.and_then(|(count, unit)| {
            count.trim().parse::<u64>().ok().and_then(|count| count.checked_mul(unit))
        });
        let expected = "a duration such as `250ms`, `90s`, `15m` or `2h`";
        milliseconds
            .map(|count| Self(Duration::from_millis(count)))
            .ok_or_else(|| UnitError { given: given.to_owned(), expected })
    }
}

macro_rules! serde_as_text {
    ($($type:ty),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}
serde_as_text!(ByteSize, Span, Gpus);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_are_read_as_written() {
        assert_eq!("2GiB".parse(), Ok(ByteSize::gib(2)));
        assert_eq!("1536".parse(), Ok(ByteSize::new(1536)));
        assert_eq!("90s".parse(), Ok(Span::seconds(90)));
        assert_eq!("15m".parse(), Ok(Span::seconds(900)));
        assert_eq!("250ms".parse(), Ok(Span(Duration::from_millis(250))));
        for wrong in ["", "2GB", "-1", "1.5GiB", "99999999999GiB"] {
            assert!(wrong.parse::<ByteSize>().is_err(), "{wrong}");
        }
        for wrong in ["", "90", "s", "-1s", "1d"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn gpus_are_read_as_written() {
        for text in ["none", "all", "0", "0,2,11"] {
            assert_eq!(text.parse::<Gpus>().unwrap().to_string(), text);
        }
        assert_eq!("2,0,2".parse(), Ok(Gpus::Only([0, 2].into())));
        for wrong in ["", "0,", "-1", "some", "0-2", "0, 2", "99999999999"] {
            assert!(wrong.parse::<Gpus>().is_err(), "{wrong}");
        }
        assert_eq!(Policy::default().gpus, Gpus::None);
    }

    #[test]
    fn a_policy_round_trips_and_partial_ones_keep_defaults() {
        let policy = Policy::default();
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&json).unwrap(), policy);
        let short: Policy = serde_json::from_str(r#"{"time_limit": "5s"}"#).unwrap();
        assert_eq!(short, Policy { time_limit: Span::seconds(5), ..policy });
        assert!(serde_json::from_str::<Policy>(r#"{"timelimit": "5s"}"#).is_err());
    }

    proptest! {
        #[test]
        fn sizes_and_spans_round_trip(bytes: u64, milliseconds in 0u64..=u64::MAX / 1000) {
            let (size, span) = (ByteSize::new(bytes), Span(Duration::from_millis(milliseconds)));
            prop_assert_eq!(size.to_string().parse(), Ok(size));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
