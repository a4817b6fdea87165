//! Where the data of a task comes from, and the file that marks an invented competition.

use super::error::TaskError;
use camino::Utf8Path;
use fs_err as fs;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::io;

/// Where the data of a task comes from. Part of every report: figures on one kind say nothing about
/// another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataSource {
    /// A competition's own data, or an anchor's.
    Real,
    /// Small invented files in the form of a competition's data.
    StandIn,
    /// A task that was invented as a whole: those of corpora, and released bundles.
    Synthetic,
}

impl fmt::Display for DataSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real data",
            Self::StandIn => "stand-in data",
            Self::Synthetic => "synthetic tasks",
        })
    }
}

/// What `stand-in.json` in a competition's folder says: that its data is invented, and how it differs
/// from the real one.
///
/// # Examples
/// ```rust
/// use tasks::task::StandIn;
///
/// let marker = StandIn::new(7, vec!["160 rows in place of 14,000".to_owned()]);
/// let json = serde_json::to_string(&marker)?;
/// assert!(json.starts_with(r#"{"stand_in":true,"seed":7,"#));
/// assert_eq!(serde_json::from_str::<StandIn>(&json)?, marker);
/// assert!(serde_json::from_str::<StandIn>(&json.replace("true", "false")).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandIn {
    #[serde(rename = "stand_in", deserialize_with = "only_true")]
    marked: bool,
    /// The seed that its data was made from.
    pub seed: u64,
    /// Differences from the real data, one sentence each.
    pub differences: Vec<String>,
}

impl StandIn {
    /// Name of the file, in the competition's folder.
    pub const FILE: &str = "stand-in.json";

    /// What the file of data made from `seed` says.
    pub fn new(seed: u64, differences: Vec<String>) -> Self {
        Self { marked: true, seed, differences }
    }

    /// Reads the file in a competition's folder; `None` if there is none, which means real data.
    ///
    /// # Errors
    /// [`TaskError::StandIn`] for another content, [`TaskError::Io`] if it cannot be read.
    pub(super) fn read(folder: &Utf8Path) -> Result<Option<Self>, TaskError> {
        let path = folder.join(Self::FILE);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|source| TaskError::StandIn { path, source }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// A file that says `false` would contradict its name.
fn only_true<'de, D: Deserializer<'de>>(value: D) -> Result<bool, D::Error> {
    if bool::deserialize(value)? {
        return Ok(true);
    }
    Err(serde::de::Error::custom("`stand_in` is false; real data has no such file, so remove it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marker_is_read_and_other_contents_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let write = |text: &str| fs::write(folder.join(StandIn::FILE), text).unwrap();
        assert_eq!(StandIn::read(folder).unwrap(), None);
        write(r#"{"stand_in": true, "seed": 3, "differences": ["smaller"]}"#);
        let marker = StandIn::new(3, vec!["smaller".to_owned()]);
        assert_eq!(StandIn::read(folder).unwrap(), Some(marker));
        for wrong in [
            "",
            "{}",
            r#"{"stand_in": false, "seed": 3, "differences": []}"#,
            r#"{"stand_in": true, "seed": -3, "differences": []}"#,
            r#"{"stand_in": true, "seed": 3, "differences": [], "more": 1}"#,
        ] {
            write(wrong);
            let error = StandIn::read(folder).unwrap_err();
            assert!(matches!(error, TaskError::StandIn { .. }), "{wrong}: {error}");
        }
    }

    #[test]
    fn data_source_is_written_as_one_word() {
        let words = [DataSource::Real, DataSource::StandIn, DataSource::Synthetic]
            .map(|source| serde_json::to_value(source).unwrap());
        assert_eq!(words, ["real", "stand_in", "synthetic"]);
    }
}
