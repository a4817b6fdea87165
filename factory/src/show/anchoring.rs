//! What the ratings of a corpus and of a folder of anchors say of each other.

use camino::{Utf8Path, Utf8PathBuf};
use evals::anchoring::{AnchorReport, SolverResult};
use fs_err as fs;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io;
use tasks::stream::Stream;
use tasks::task::{Corpus, TaskError};

/// The file of ratings in a folder of tasks.
const RATINGS: &str = "ratings.jsonl";

/// Why two folders cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum AnchoringError {
    /// One of them cannot be opened.
    #[error(transparent)]
    Tasks(#[from] TaskError),
    /// The second is another corpus.
    #[error(
        "`{0}` holds tasks that were invented; `factory anchors --out DIR` makes those to compare with"
    )]
    NoAnchors(Utf8PathBuf),
    /// Nobody has played its tasks.
    #[error("`{0}` has no ratings; `factory rate {0}` makes them")]
    Unrated(Utf8PathBuf),
    /// A line that is no rating.
    #[error("line {line} of `{path}` is no rating")]
    Line {
        /// The file.
        path: Utf8PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A file that cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What is needed of a line of ratings.
#[derive(Debug, Deserialize)]
struct RatedTask {
    task: String,
    solver: String,
    way: f64,
}

/// Compares how the solvers that rated both folders are ranked.
///
/// # Errors
/// [`AnchoringError`].
pub fn compare(corpus: &Utf8Path, anchors: &Utf8Path) -> Result<AnchorReport, AnchoringError> {
    let found = Corpus::open(anchors)?;
    if !found.tasks().iter().all(|task| task.manifest().is_anchor()) {
        return Err(AnchoringError::NoAnchors(anchors.to_owned()));
    }
    let (corpus, anchors) = (results(&Corpus::open(corpus)?)?, results(&found)?);
    Ok(AnchorReport::new(&corpus, &anchors, Stream::root(0).child("anchoring")))
}

/// The ratings of the tasks that are there. Of several by one solver on one task the last counts;
/// half a line at the end is of a run that was killed.
fn results(corpus: &Corpus) -> Result<Vec<SolverResult>, AnchoringError> {
    let path = corpus.path().join(RATINGS);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(AnchoringError::Unrated(corpus.path().to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    let whole = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    let mut ways: BTreeMap<(String, String), f64> = BTreeMap::new();
    for (at, line) in whole.lines().enumerate() {
        let rated: RatedTask = serde_json::from_str(line)
            .map_err(|source| AnchoringError::Line { path: path.clone(), line: at + 1, source })?;
        ways.insert((rated.task, rated.solver), rated.way);
    }
    let modalities: BTreeMap<&str, _> =
        corpus.tasks().iter().map(|task| (task.id().as_str(), task.manifest().modality)).collect();
    let result = |((task, solver), value): ((String, String), f64)| {
        let modality = *modalities.get(task.as_str())?;
        Some(SolverResult { task, modality, solver, value })
    };
    Ok(ways.into_iter().filter_map(result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with two tasks and ratings of three solvers on each.
    fn rated(root: &Utf8Path, name: &str, source: &str, ways: [[f64; 3]; 2]) -> Utf8PathBuf {
        let folder = root.join(name);
        let mut lines = String::new();
        for (at, ways) in ways.iter().enumerate() {
            let id = format!("t{at}");
            let text = support::manifest::manifest(&id, 400, [0.9, 0.8, 0.7, 0.6]);
            let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
            manifest["data_source"] = source.into();
            fs::create_dir_all(folder.join(&id)).unwrap();
            fs::write(folder.join(&id).join("task.json"), manifest.to_string()).unwrap();
            for (solver, way) in ["constant", "engineer", "specialist"].iter().zip(ways) {
                let rating =
                    serde_json::json!({"task": id, "solver": solver, "way": way, "score": 1});
                lines += &format!("{rating}\n");
            }
        }
        fs::write(folder.join(RATINGS), lines + "{\"task\": \"t").unwrap();
        folder
    }

    #[test]
    fn ratings_of_both_folders_are_compared_and_invented_tasks_are_no_anchors() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let corpus = rated(root, "corpus", "synthetic", [[0.0, 0.5, 0.9], [0.0, 0.6, 0.8]]);
        let anchors = rated(root, "anchors", "real", [[0.1, 0.7, 0.6], [0.0, 0.8, 0.9]]);
        let found = compare(&corpus, &anchors).unwrap().overall.unwrap();
        assert_eq!((found.means.len(), found.tasks, found.spearman), (3, (2, 2), 0.5));
        let error = compare(&corpus, &corpus).unwrap_err();
        assert!(matches!(error, AnchoringError::NoAnchors(_)), "{error}");
        fs::remove_file(anchors.join(RATINGS)).unwrap();
        let error = compare(&corpus, &anchors).unwrap_err();
        assert!(matches!(error, AnchoringError::Unrated(_)), "{error}");
        fs::write(anchors.join(RATINGS), "{}\n").unwrap();
        let error = compare(&corpus, &anchors).unwrap_err();
        assert!(matches!(error, AnchoringError::Line { line: 1, .. }), "{error}");
    }
}
