//! How tricks fared in earlier runs: each use with the metrics before and after it, and what is
//! learned from them.

use super::labels::TaskLabels;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io;
use tasks::metrics::Direction;

/// The file in the folder of a run that lists its uses of tricks, a JSON object a line.
pub const TRICK_USES: &str = "trick_uses.jsonl";

/// One use of a trick: a script with it that works, and the one that it was to improve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrickUse {
    /// Its id.
    pub trick: String,
    /// The task.
    pub task: String,
    /// The labels of the task.
    pub labels: TaskLabels,
    /// Which way the metric improves.
    pub direction: Direction,
    /// The validation score of the script without it.
    pub parent: f64,
    /// The validation score of the script with it.
    pub child: f64,
}

impl TrickUse {
    /// Whether the script with it is better.
    pub fn has_won(&self) -> bool {
        match self.direction {
            Direction::HigherIsBetter => self.child > self.parent,
            Direction::LowerIsBetter => self.child < self.parent,
        }
    }
}

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TrickRecordError {
    /// A file or folder cannot be read.
    #[error("failed to read how tricks fared")]
    Io(#[from] io::Error),
    /// A line that is no use of a trick.
    #[error("line {line} of `{path}` is not a use of a trick")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A folder without uses.
    #[error("`{0}` holds no `trick_uses.jsonl`; runs of `automind` with tricks write one each")]
    Nothing(Utf8PathBuf),
}

/// Uses of tricks in earlier runs.
///
/// # Examples
/// ```rust
/// use agents::knowledge::{TaskLabels, TrickRecord};
///
/// let record = TrickRecord::default();
/// assert_eq!(record.posterior_mean("clip-predictions", &TaskLabels::default()), 0.5);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrickRecord(Vec<TrickUse>);

impl TrickRecord {
    /// Of these uses.
    pub fn new(uses: Vec<TrickUse>) -> Self {
        Self(uses)
    }

    /// Reads a file of uses, or all such files below a folder, in the order of their paths.
    ///
    /// # Errors
    /// [`TrickRecordError`], also for a folder that has none.
    pub fn read(path: &Utf8Path) -> Result<Self, TrickRecordError> {
        let mut files = Vec::new();
        if path.is_dir() {
            collect(path, &mut files)?;
            files.sort();
            if files.is_empty() {
                return Err(TrickRecordError::Nothing(path.to_owned()));
            }
        } else {
            files.push(path.to_owned());
        }
        let mut uses = Vec::new();
        for path in files {
            for (index, line) in fs::read_to_string(&path)?.lines().enumerate() {
                uses.push(serde_json::from_str(line).map_err(|source| TrickRecordError::Line {
                    path: path.clone(),
                    line: index + 1,
                    source,
                })?);
            }
        }
        Ok(Self(uses))
    }

    /// All uses.
    pub fn uses(&self) -> &[TrickUse] {
        &self.0
    }

    /// The mean of the posterior of the chance that a trick helps, in (0, 1), with a uniform prior:
    /// (1 + wins) / (2 + uses), over uses on tasks that share a hard label with `labels`.
    pub fn posterior_mean(&self, trick: &str, labels: &TaskLabels) -> f64 {
        let of_kind = |used: &&TrickUse| {
            used.trick == trick && used.labels.hard().any(|hard| labels.soft(hard).is_some())
        };
        let (wins, uses) = self.0.iter().filter(of_kind).fold((0.0, 0.0), |(wins, uses), used| {
            (wins + f64::from(u8::from(used.has_won())), uses + 1.0)
        });
        (1.0 + wins) / (2.0 + uses)
    }

    /// BLAKE3 of all uses, in hexadecimal.
    pub fn hash(&self) -> String {
        blake3::hash(self.to_lines().as_bytes()).to_hex().to_string()
    }

    /// The uses, a line each.
    pub fn to_lines(&self) -> String {
        self.0.iter().fold(String::new(), |mut lines, used| {
            let json = serde_json::to_string(used).expect("an object with string keys");
            let _ = writeln!(lines, "{json}");
            lines
        })
    }
}

fn collect(folder: &Utf8Path, files: &mut Vec<Utf8PathBuf>) -> io::Result<()> {
    for entry in folder.read_dir_utf8()? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(entry.path(), files)?;
        } else if kind.is_file() && entry.file_name() == TRICK_USES {
            files.push(entry.into_path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(trick: &str, label: &str, parent: f64, child: f64) -> TrickUse {
        TrickUse {
            trick: trick.to_owned(),
            task: "t".to_owned(),
            labels: [label.parse().unwrap()].into_iter().collect(),
            direction: Direction::LowerIsBetter,
            parent,
            child,
        }
    }

    #[test]
    fn wins_on_tasks_of_the_kind_move_the_posterior_mean() {
        let (rows, graphs) = ("General Machine Learning/Regression", "Graph Learning/Links");
        let record = TrickRecord::new(vec![
            used("a", rows, 1.0, 0.5),
            used("a", rows, 1.0, 0.9),
            used("a", rows, 1.0, 1.0),
            used("a", graphs, 1.0, 2.0),
            used("b", rows, 1.0, 2.0),
        ]);
        let of = |trick: &str, label: &str| {
            record.posterior_mean(trick, &[label.parse().unwrap()].into_iter().collect())
        };
        assert_eq!(of("a", rows), 3.0 / 5.0);
        assert_eq!(of("a", graphs), 1.0 / 3.0);
        assert_eq!(of("b", rows), 1.0 / 3.0);
        assert_eq!(of("c", rows), 0.5);
    }

    #[test]
    fn records_are_read_from_files_and_from_all_runs_below_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let error = TrickRecord::read(folder).unwrap_err().to_string();
        assert!(error.contains("holds no `trick_uses.jsonl`"), "{error}");
        let record = TrickRecord::new(vec![used("a", "A/x", 1.0, 0.5)]);
        for run in ["one", "two/deep"] {
            fs::create_dir_all(folder.join(run)).unwrap();
            fs::write(folder.join(run).join(TRICK_USES), record.to_lines()).unwrap();
        }
        assert_eq!(TrickRecord::read(folder).unwrap().uses().len(), 2);
        let one = TrickRecord::read(&folder.join("one").join(TRICK_USES)).unwrap();
        assert_eq!((&one, one.hash()), (&record, record.hash()));
        fs::write(folder.join("one").join(TRICK_USES), "{}\n").unwrap();
        let error = TrickRecord::read(folder).unwrap_err().to_string();
        assert!(error.contains("line 1 of"), "{error}");
    }
}
