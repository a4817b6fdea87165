//! `ratings.jsonl`: a line per task and solver.

use super::level::{Level, LevelSource, TaskLevel};
use super::solver::Solver;
use crate::task::{Manifest, TaskId};
use crate::thresholds::Milestone;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write as _};

/// The file's name in the folder of a corpus.
pub const RATINGS: &str = "ratings.jsonl";

/// The version of [`Rating`] that this build reads and writes.
pub const RATING_VERSION: u32 = 1;

/// What one solver made of one task. A script that failed has a rating too; one that was lost to a
/// fault of the sandbox has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rating {
    /// Version of the format, [`RATING_VERSION`].
    pub version: u32,
    /// The task.
    pub task: TaskId,
    /// [`files_hash`] of the task that was solved.
    pub files: String,
    /// Who solved it.
    pub solver: Solver,
    /// BLAKE3 of the script, which states its seed and its time limit, 16 hexadecimal digits. A
    /// rating with another one is out of date.
    pub script: String,
    /// How the script ended, in the words of the sandbox, such as `finished` or `timed out`.
    pub ending: String,
    /// The score of a valid submission.
    pub score: Option<f64>,
    /// The best milestone that it reaches.
    pub milestone: Option<Milestone>,
    /// Its share of the way from R0 to the ceiling, in [0, 1]; 0 without a valid submission.
    pub way: f64,
    /// Processor time of the script, in seconds.
    pub processor_seconds: f64,
    /// Why there is no valid submission, in the words that an agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// What the script says of itself: that it fell back to the sample submission, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Why ratings cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RatingError {
    /// The file cannot be read.
    #[error("failed to read the ratings")]
    Io(#[from] io::Error),
    /// A line is no rating.
    #[error("line {line} of `{path}` is no rating; remove the file and rate the corpus again")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A line is of another version.
    #[error(
        "line {line} of `{path}` is a rating of version {found}, and this build reads \
         {RATING_VERSION}; remove the file and rate the corpus again"
    )]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// The version that it states.
        found: u64,
    },
}

/// BLAKE3 of the hashes of a task's files and of its milestones, 16 hexadecimal digits: tasks with
/// the same one are graded alike.
pub fn files_hash(manifest: &Manifest) -> String {
    let mut hasher = blake3::Hasher::new();
    for (file, hash) in &manifest.hashes {
        hasher.update(file.as_bytes()).update(b"\0").update(hash.as_bytes()).update(b"\n");
    }
    for (_, threshold) in manifest.thresholds.ascending() {
        hasher.update(&threshold.to_le_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Appends a rating to the file at `path`, which is made if it is missing.
///
/// # Errors
/// Any I/O error, naming the file.
pub fn append(path: &Utf8Path, rating: &Rating) -> io::Result<()> {
    let mut line = serde_json::to_vec(rating).map_err(io::Error::from)?;
    line.push(b'\n');
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(&line)
}

/// The ratings of a corpus. Of several by one solver on one task the last counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ratings {
    by_task: BTreeMap<TaskId, BTreeMap<Solver, Rating>>,
}

impl Ratings {
    /// Reads the ratings of the corpus in `dir`; none if it was never rated. Half a line at the end
    /// is of a run that was killed and is passed over.
    ///
    /// # Errors
    /// [`RatingError`].
    pub fn read(dir: &Utf8Path) -> Result<Self, RatingError> {
        let path = dir.join(RATINGS);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error.into()),
        };
        let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
        let mut ratings = Self::default();
        for (index, line) in whole.lines().enumerate() {
            ratings.insert(parse(&path, index + 1, line)?);
        }
        Ok(ratings)
    }

    /// Adds a rating, in the place of an earlier one of the same task and solver.
    pub fn insert(&mut self, rating: Rating) {
        self.by_task.entry(rating.task.clone()).or_default().insert(rating.solver, rating);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_task.is_empty()
    }

    /// The ratings of a task as it is now, weakest solver first. Ratings of a task that had this
    /// name and other files are not among them.
    pub fn of<'a>(&'a self, manifest: &Manifest) -> impl Iterator<Item = &'a Rating> {
        let files = files_hash(manifest);
        let ratings = self.by_task.get(&manifest.id).into_iter().flat_map(BTreeMap::values);
        ratings.filter(move |rating| rating.files == files)
    }

    /// The level of a task: from the solvers if they have rated it, else from its ladder.
    pub fn level(&self, manifest: &Manifest) -> TaskLevel {
        let reached = self.of(manifest).map(|rating| (rating.solver, rating.milestone));
        match Level::from_solvers(&reached.collect()) {
            Some(level) => TaskLevel { level, source: LevelSource::Solvers },
            None => TaskLevel {
                level: Level::from_ladder(
                    &manifest.baselines,
                    &manifest.thresholds,
                    manifest.direction(),
                ),
                source: LevelSource::Ladder,
            },
        }
    }
}

fn parse(path: &Utf8Path, line: usize, text: &str) -> Result<Rating, RatingError> {
    let broken = |source| RatingError::Line { path: path.to_owned(), line, source };
    // The version is looked at first: a rating of another version may differ anywhere.
    let value: serde_json::Value = serde_json::from_str(text).map_err(broken)?;
    let found = value["version"].as_u64().unwrap_or(0);
    if found != u64::from(RATING_VERSION) {
        return Err(RatingError::Version { path: path.to_owned(), line, found });
    }
    serde_json::from_value(value).map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let text = support::manifest::manifest("t1", 400, [0.9, 0.8, 0.7, 0.6]);
        serde_json::from_str(&text).unwrap()
    }

    fn rating(solver: Solver, milestone: Option<Milestone>) -> Rating {
        Rating {
            version: RATING_VERSION,
            task: TaskId::new("t1").unwrap(),
            files: files_hash(&manifest()),
            solver,
            script: "0123456789abcdef".to_owned(),
            ending: "finished".to_owned(),
            score: Some(0.1 + 0.2),
            milestone,
            way: 1.0 / 3.0,
            processor_seconds: 1.25,
            refusal: None,
            note: Some("fell back: unknown form".to_owned()),
        }
    }

    #[test]
    fn ratings_are_read_as_they_were_written_and_the_last_counts() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        assert!(Ratings::read(dir).unwrap().is_empty());
        let path = dir.join(RATINGS);
        let last = rating(Solver::Engineer, Some(Milestone::Silver));
        for rating in [rating(Solver::Engineer, None), rating(Solver::Glance, None), last.clone()] {
            append(&path, &rating).unwrap();
        }
        // A killed run leaves half a line.
        let torn = fs::read_to_string(&path).unwrap() + "{\"version\": 1, \"ta";
        fs::write(&path, torn).unwrap();
        let ratings = Ratings::read(dir).unwrap();
        let found: Vec<&Rating> = ratings.of(&manifest()).collect();
        assert_eq!(found, [&rating(Solver::Glance, None), &last]);
    }

    #[test]
    fn ratings_of_other_files_do_not_count() {
        let mut ratings = Ratings::default();
        for solver in Solver::DEFAULT {
            ratings.insert(rating(solver, Some(Milestone::Gold)));
        }
        assert_eq!(ratings.level(&manifest()).source, LevelSource::Solvers);
        let mut changed = manifest();
        changed.hashes.insert("prepared/public/train.csv".to_owned(), "00".to_owned());
        assert_eq!(ratings.of(&changed).count(), 0);
        assert_eq!(ratings.level(&changed).source, LevelSource::Ladder);
        let mut moved = manifest();
        moved.thresholds.bronze_threshold += 0.01;
        assert_eq!(ratings.of(&moved).count(), 0);
    }

    #[test]
    fn damaged_lines_and_other_versions_are_refused_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let path = dir.join(RATINGS);
        append(&path, &rating(Solver::Constant, None)).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        for (second, expected) in [
            ("{}\n", "line 2 of"),
            ("{\"version\": 7}\n", "version 7"),
            ("{\"version\": 1}\n", "is no rating"),
            ("what\n", "is no rating"),
        ] {
            fs::write(&path, format!("{whole}{second}")).unwrap();
            let error = Ratings::read(dir).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("line 2"), "{error}");
        }
    }
}
