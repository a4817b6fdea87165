//! Sizes and durations, written with their unit.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A text that is not of the form that a setting asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not {expected}")]
pub struct UnitError {
    given: String,
    expected: &'static str,
}

impl UnitError {
    /// `given` is not `expected`, which completes "it is not ...".
    pub fn new(given: &str, expected: &'static str) -> Self {
        Self { given: given.to_owned(), expected }
    }
}

/// A number of bytes, written `512`, `64KiB`, `256MiB` or `2GiB`.
///
/// # Examples
/// ```rust
/// use tasks::units::ByteSize;
///
/// let size: ByteSize = "64MiB".parse()?;
/// assert_eq!(size.bytes(), 64 << 20);
/// assert_eq!(ByteSize::kib(2048).to_string(), "2MiB");
/// assert!("64MB".parse::<ByteSize>().is_err());
/// # Ok::<(), tasks::units::UnitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

impl ByteSize {
    const UNITS: [(&'static str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

    /// A size of `bytes` bytes.
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

    /// The number of bytes as a length in memory, at most `usize::MAX`.
    pub fn length(self) -> usize {
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
        bytes.map(Self).ok_or_else(|| UnitError::new(given, expected))
    }
}

/// A duration, written `250ms`, `90s`, `15m` or `2h`.
///
/// # Examples
/// ```rust
/// use std::time::Duration;
/// use tasks::units::Span;
///
/// let limit: Span = "15m".parse()?;
/// assert_eq!(limit, Span::seconds(900));
/// assert_eq!(Span(Duration::from_millis(1500)).to_string(), "1500ms");
/// assert!("15".parse::<Span>().is_err(), "a duration needs a unit");
/// # Ok::<(), tasks::units::UnitError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

impl Span {
    /// In words for prompts: whole hours, else whole minutes from ten on, else whole seconds; rounded
    /// down.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::units::Span;
    ///
    /// let words = [7200, 86_399, 600, 90].map(|seconds| Span::seconds(seconds).in_words());
    /// assert_eq!(words, ["2 hours", "1439 minutes", "10 minutes", "90 seconds"]);
    /// ```
    pub fn in_words(self) -> String {
        let seconds = self.0.as_secs();
        match seconds {
            3600 => "1 hour".to_owned(),
            _ if seconds >= 3600 && seconds.is_multiple_of(3600) => {
                format!("{} hours", seconds / 3600)
            }
            600.. => format!("{} minutes", seconds / 60),
            _ => format!("{seconds} seconds"),
        }
    }

    /// `ms` before `s` and `m`, which it ends or begins with.
    const UNITS: [(&'static str, u64); 4] =
        [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];

    /// A duration of `count` seconds.
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
            .ok_or_else(|| UnitError::new(given, expected))
    }
}

macro_rules! serde_as_text {
    ($($type:ty),*) => {$(
        /// It is a text in files.
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                String::json_schema(generator)
            }
        }

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
serde_as_text!(ByteSize, Span);

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

    proptest! {
        #[test]
        fn sizes_and_spans_round_trip(bytes: u64, milliseconds in 0u64..=u64::MAX / 1000) {
            let (size, span) = (ByteSize::new(bytes), Span(Duration::from_millis(milliseconds)));
            prop_assert_eq!(size.to_string().parse(), Ok(size));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
