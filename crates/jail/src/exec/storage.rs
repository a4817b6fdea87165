//! Where the files of work dirs are kept.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tasks::units::UnitError;

/// Where the files of work dirs are kept, written `memory` or `disk`.
///
/// # Examples
/// ```rust
/// use jail::exec::WorkDirStorage;
///
/// assert_eq!("disk".parse(), Ok(WorkDirStorage::Disk));
/// assert_eq!(WorkDirStorage::default().to_string(), "memory");
/// assert!("ssd".parse::<WorkDirStorage>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkDirStorage {
    /// In memory, a mount of its own for each, whose size the kernel bounds at any moment. Without a
    /// box ([`IsolationLevel::T3`](crate::isolation::IsolationLevel::T3)) there are no mounts, and
    /// work dirs are on disk.
    #[default]
    Memory,
    /// In the host's folder for temporary files (`TMPDIR`, else `/tmp`). Sizes are added up every
    /// 50 ms, less often where there are many files, so that a run may go over its limit for a
    /// moment before it ends.
    Disk,
}

impl WorkDirStorage {
    /// Its name on the command line and in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "disk",
        }
    }
}

impl fmt::Display for WorkDirStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WorkDirStorage {
    type Err = UnitError;
    fn from_str(given: &str) -> Result<Self, UnitError> {
        let found = [Self::Memory, Self::Disk].into_iter().find(|place| place.name() == given);
        found.ok_or_else(|| UnitError::new(given, "`memory` or `disk`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_agree_with_serde() {
        for place in [WorkDirStorage::Memory, WorkDirStorage::Disk] {
            assert_eq!(place.name().parse(), Ok(place));
            assert_eq!(serde_json::to_value(place).unwrap(), place.name());
        }
    }
}
