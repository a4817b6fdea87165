//! What the ratings of a corpus and of a folder of anchors say of each other.

use camino::{Utf8Path, Utf8PathBuf};
use evals::anchoring::{AnchorReport, SolverResult};
use tasks::rating::{RatingError, Ratings};
use tasks::stream::Stream;
use tasks::task::{Corpus, TaskError};

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
    /// None of its tasks has a rating.
    #[error("`{0}` has no ratings; `factory rate {0}` makes them")]
    Unrated(Utf8PathBuf),
    /// Ratings that cannot be read.
    #[error(transparent)]
    Ratings(#[from] RatingError),
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

/// The ratings of the tasks as they are now.
fn results(corpus: &Corpus) -> Result<Vec<SolverResult>, AnchoringError> {
    let ratings = Ratings::read(corpus.path())?;
    let mut results = Vec::new();
    for task in corpus.tasks() {
        let manifest = task.manifest();
        results.extend(ratings.of(manifest).map(|rating| SolverResult {
            task: manifest.id.to_string(),
            modality: manifest.modality,
            solver: rating.solver.to_string(),
            value: rating.way,
        }));
    }
    if results.is_empty() {
        return Err(AnchoringError::Unrated(corpus.path().to_owned()));
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;
    use tasks::rating::{self, RATING_VERSION, RATINGS, Rating, Solver};
    use tasks::task::{Manifest, TaskId};

    /// A folder with two tasks and ratings of three solvers on each.
    fn rated(root: &Utf8Path, name: &str, source: &str, ways: [[f64; 3]; 2]) -> Utf8PathBuf {
        let folder = root.join(name);
        for (at, ways) in ways.iter().enumerate() {
            let id = format!("t{at}");
            let text = support::manifest::manifest(&id, 400, [0.9, 0.8, 0.7, 0.6]);
            let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
            manifest["data_source"] = source.into();
            fs::create_dir_all(folder.join(&id)).unwrap();
            fs::write(folder.join(&id).join("task.json"), manifest.to_string()).unwrap();
            let manifest: Manifest = serde_json::from_value(manifest).unwrap();
            let solvers = [Solver::Constant, Solver::Engineer, Solver::Specialist];
            for (solver, way) in solvers.into_iter().zip(*ways) {
                let rating = Rating {
                    version: RATING_VERSION,
                    task: TaskId::new(&id).unwrap(),
                    files: rating::files_hash(&manifest),
                    solver,
                    script: String::new(),
                    ending: "finished".to_owned(),
                    score: Some(1.0),
                    milestone: None,
                    way,
                    processor_seconds: 1.0,
                    refusal: None,
                    note: None,
                };
                rating::append(&folder.join(RATINGS), &rating).unwrap();
            }
        }
        folder
    }

    #[test]
    fn ratings_of_both_folders_are_compared_and_invented_tasks_are_no_anchors() {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(folder.path()).unwrap();
        let corpus = rated(root, "corpus", "synthetic", [[0.0, 0.5, 0.9], [0.0, 0.6, 0.8]]);
        let anchors = rated(root, "anchors", "real", [[0.1, 0.7, 0.6], [0.0, 0.8, 0.7]]);
        let found = compare(&corpus, &anchors).unwrap().overall.unwrap();
        assert_eq!((found.means.len(), found.tasks, found.spearman), (3, (2, 2), 0.5));
        let error = compare(&corpus, &corpus).unwrap_err();
        assert!(matches!(error, AnchoringError::NoAnchors(_)), "{error}");
        fs::remove_file(anchors.join(RATINGS)).unwrap();
        let error = compare(&corpus, &anchors).unwrap_err();
        assert!(matches!(error, AnchoringError::Unrated(_)), "{error}");
        fs::write(anchors.join(RATINGS), "{}\n").unwrap();
        let error = compare(&corpus, &anchors).unwrap_err();
        assert!(
            matches!(error, AnchoringError::Ratings(RatingError::Version { line: 1, .. })),
            "{error}"
        );
    }
}
