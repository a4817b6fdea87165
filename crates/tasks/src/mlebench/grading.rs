//! Grades files as MLE-bench does, from paths to reports: missing files and refused submissions are
//! part of a report, other problems are errors.

use super::board::{Board, BoardError, competition, near_names};
use super::checks::GraderRefusal;
use super::frame::{FrameError, FrameLimits, PandasFrame};
use super::graders::grader;
use super::report::CompetitionReport;
use crate::collect::{CollectError, read_file};
use crate::submission::MOST_BYTES;
use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;
use std::io::Read;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum GradingError {
    /// No competition of that name.
    #[error("there is no competition `{id}`; did you mean {}?", near.join(" or "))]
    Unknown {
        /// The name that was given.
        id: String,
        /// The most similar names of competitions.
        near: Vec<&'static str>,
    },
    /// A competition without a grader here.
    #[error(
        "the grader of `{id}` is not built in, only those of the 22 competitions of low \
         complexity; {}",
        if *.thresholds { "its thresholds are known" } else { "nor are its thresholds known" }
    )]
    NoGrader {
        /// Name of the competition.
        id: String,
        /// Whether its thresholds are known.
        thresholds: bool,
    },
    /// The submission is no table. The original stops here, without a report.
    #[error("failed to read the submission `{path}`")]
    Submission {
        /// Path of the leaderboard.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: FrameError,
    },
    /// The submission is no file that is read: a link, or too large.
    #[error("invalid submission: {0}")]
    Unread(#[source] CollectError),
    /// The answers are no table.
    #[error("failed to read the answers `{path}`")]
    Answers {
        /// Path of the answers.
        path: Utf8PathBuf,
        /// What is wrong with it.
        #[source]
        source: FrameError,
    },
    /// A file could not be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A leaderboard that is none.
    #[error("`{path}` is no leaderboard")]
    Board {
        /// Path of the submission.
        path: Utf8PathBuf,
        /// Why it cannot be read as a table.
        #[source]
        source: BoardError,
    },
    /// A line of a list of submissions.
    #[error(
        "line {line} of the list of submissions is not a JSON object with `competition_id` and `submission_path`"
    )]
    Line {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// No answers, or several files that could be these.
    #[error(
        "found {found} CSV files in `{folder}` where the answers should be one; name an mle-bench checkout, whose configuration says which"
    )]
    WhichAnswers {
        /// Where they should be.
        folder: Utf8PathBuf,
        /// How many there are.
        found: usize,
    },
    /// A configuration that does not say where the answers are.
    #[error("`{path}` has no line `answers: PATH`")]
    Configuration {
        /// Path of the configuration file.
        path: Utf8PathBuf,
    },
}

/// A report, and why it has no score where it has none.
#[derive(Debug)]
pub struct GradingOutcome {
    /// The report that MLE-bench writes.
    pub report: CompetitionReport,
    /// Why the submission was refused, which MLE-bench only logs.
    pub refusal: Option<GraderRefusal>,
}

/// The thresholds that are known of a competition with a grader.
///
/// # Errors
/// [`GradingError::Unknown`], and [`GradingError::NoGrader`] where only thresholds are known.
pub fn known_board(id: &str) -> Result<Board, GradingError> {
    let Some(competition) = competition(id) else {
        return Err(GradingError::Unknown { id: id.to_owned(), near: near_names(id) });
    };
    match (grader(id), competition.board) {
        (Some(_), Some(board)) => Ok(board),
        (_, board) => {
            Err(GradingError::NoGrader { id: id.to_owned(), thresholds: board.is_some() })
        }
    }
}

/// The thresholds of a competition with a grader: those of its leaderboard in a checkout of
/// mle-bench (or in the competition's folder of one), else those of the built-in table.
///
/// # Errors
/// As [`known_board`], and [`GradingError::Board`] for a leaderboard that is none.
pub fn board(id: &str, checkout: Option<&Utf8Path>) -> Result<Board, GradingError> {
    let known = known_board(id)?;
    match checkout {
        None => Ok(known),
        Some(folder) => read_board(&leaderboard_path(folder, id)),
    }
}

/// The thresholds that a leaderboard gives.
///
/// # Errors
/// [`GradingError::Io`] and [`GradingError::Board`].
pub fn read_board(path: &Utf8Path) -> Result<Board, GradingError> {
    let bytes = fs_err::read(path)?;
    Board::read(&bytes).map_err(|source| GradingError::Board { path: path.to_owned(), source })
}

/// Reads the answers of a competition.
///
/// # Errors
/// [`GradingError::Io`] and [`GradingError::Answers`].
pub fn read_answers(path: &Utf8Path) -> Result<PandasFrame, GradingError> {
    PandasFrame::read(&read(path)?)
        .map_err(|source| GradingError::Answers { path: path.to_owned(), source })
}

/// Grades one submission. A file that is missing or does not end in `.csv` is not read, nor are
/// the answers. The original follows a submission that is a link; here it is refused, since it
/// was left there by whom it grades and may lead to anything.
///
/// # Errors
/// [`GradingError`], where the original stops; what its grader refuses is in the outcome.
pub fn grade(
    id: &str,
    board: Board,
    answers: &Utf8Path,
    submission: &Utf8Path,
    created_at: String,
) -> Result<GradingOutcome, GradingError> {
    known_board(id)?;
    let is_csv = submission.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv"));
    let submission_exists = is_csv && submission.is_file();
    let mut report = CompetitionReport {
        competition_id: id.to_owned(),
        score: None,
        board,
        submission_exists,
        created_at,
        submission_path: submission.to_string(),
    };
    let mut refusal = None;
    if let (true, Some(grader)) = (submission_exists, grader(id)) {
        let truth = read_answers(answers)?;
        let limits = FrameLimits::for_submissions(&truth);
        // Where the answers are as large as that, so may a submission be.
        let most = MOST_BYTES.max(limits.bytes as u64);
        let bytes = read_file(submission, most).map_err(GradingError::Unread)?;
        let table = PandasFrame::read_within(&bytes, limits)
            .map_err(|source| GradingError::Submission { path: submission.to_owned(), source })?;
        drop(bytes);
        match grader(&table, &truth) {
            Ok(score) => report.score = Some(score.rounded()),
            Err(error) => refusal = Some(error),
        }
    }
    Ok(GradingOutcome { report, refusal })
}

/// A file up to one byte more than is accepted.
fn read(path: &Utf8Path) -> Result<Vec<u8>, GradingError> {
    let mut bytes = Vec::new();
    let most = u64::try_from(FrameLimits::default().bytes).unwrap_or(u64::MAX);
    fs_err::File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// One line of a list of submissions. Other keys are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SubmissionEntry {
    /// Name of the competition, as in MLE-bench.
    pub competition_id: String,
    /// The submission; `null` for a run that wrote none, which becomes a file that is missing.
    #[serde(deserialize_with = "path_or_none")]
    pub submission_path: Utf8PathBuf,
}

fn path_or_none<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Utf8PathBuf, D::Error> {
    Ok(Option::<Utf8PathBuf>::deserialize(value)?.unwrap_or_else(|| "None".into()))
}

/// Reads a list of submissions, one JSON object per line; blank lines and those that begin with
/// `#` or `//` do not count.
///
/// # Errors
/// [`GradingError::Line`] for the first line that is none.
///
/// # Examples
/// ```rust
/// use tasks::mlebench::grading::read_list;
///
/// let list = read_list(
///     "# runs of today\n\
///      {\"competition_id\": \"leaf-classification\", \"submission_path\": \"a.csv\"}\n",
/// )?;
/// assert_eq!((list.len(), list[0].submission_path.as_str()), (1, "a.csv"));
/// # Ok::<(), tasks::mlebench::grading::GradingError>(())
/// ```
pub fn read_list(text: &str) -> Result<Vec<SubmissionEntry>, GradingError> {
    let lines = text.lines().map(str::trim).enumerate();
    let counted = lines
        .filter(|(_, line)| !(line.is_empty() || line.starts_with('#') || line.starts_with("//")));
    let entry = |(index, line)| {
        serde_json::from_str(line).map_err(|source| GradingError::Line { line: index + 1, source })
    };
    counted.map(entry).collect()
}

/// The leaderboard of a competition below `folder`, which is a checkout of mle-bench or the
/// competition's own folder in one.
pub fn leaderboard_path(folder: &Utf8Path, id: &str) -> Utf8PathBuf {
    competition_folder(folder, id).join("leaderboard.csv")
}

fn competition_folder(folder: &Utf8Path, id: &str) -> Utf8PathBuf {
    let inside = folder.join("mlebench/competitions").join(id);
    if inside.is_dir() { inside } else { folder.to_owned() }
}

/// The answers of a competition in mle-bench's data folder: those that a checkout's
/// configuration names, else those that mle-bench prepares for the 22 of low complexity. A
/// competition of another name has the only CSV file of its private half. The file may be missing
/// in the first two cases.
///
/// # Errors
/// [`GradingError`] where it is not clear which file that is.
pub fn answers_path(
    data: &Utf8Path,
    id: &str,
    checkout: Option<&Utf8Path>,
) -> Result<Utf8PathBuf, GradingError> {
    if let Some(checkout) = checkout {
        let path = competition_folder(checkout, id).join("config.yaml");
        let text = fs_err::read_to_string(&path)?;
        let named = text.lines().find_map(|line| line.trim().strip_prefix("answers:"));
        let named = named.map(|name| name.trim().trim_matches(['"', '\'']));
        return match named.filter(|name| !name.is_empty()) {
            Some(name) => Ok(data.join(name)),
            None => Err(GradingError::Configuration { path }),
        };
    }
    let folder = data.join(id).join("prepared/private");
    if let Some(name) = competition(id).and_then(|known| known.answers) {
        return Ok(folder.join(name));
    }
    let mut found = Vec::new();
    for entry in folder.read_dir_utf8()? {
        let path = entry?.path().to_owned();
        if path.extension() == Some("csv") {
            found.push(path);
        }
    }
    match (found.len(), found.pop()) {
        (1, Some(path)) => Ok(path),
        (count, _) => Err(GradingError::WhichAnswers { folder, found: count }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_skips_comments_and_reads_null_as_no_file() {
        let list = "# runs\n\n {\"competition_id\": \"a\", \"submission_path\": \"s.csv\", \"x\": 1}\n\
                    // more\n{\"competition_id\": \"b\", \"submission_path\": null}\n";
        let entries = read_list(list).unwrap();
        let paths: Vec<&str> = entries.iter().map(|entry| entry.submission_path.as_str()).collect();
        assert_eq!(paths, ["s.csv", "None"]);
        for bad in ["{}", "{\"competition_id\": \"a\"}", "[1", "{\"submission_path\": null}"] {
            let error = read_list(&format!("\n{bad}")).unwrap_err();
            assert!(matches!(error, GradingError::Line { line: 2, .. }), "{bad}");
        }
    }

    #[test]
    fn answers_path_of_a_known_competition_ignores_other_files() {
        let folder = tempfile::tempdir().unwrap();
        let data = Utf8Path::from_path(folder.path()).unwrap();
        let write = |id: &str, name: &str| {
            let private = data.join(id).join("prepared/private");
            fs_err::create_dir_all(&private).unwrap();
            fs_err::write(private.join(name), "id\n").unwrap();
        };
        for (id, name, other) in [
            ("detecting-insults-in-social-commentary", "test.csv", "gold_submission.csv"),
            ("tabular-playground-series-may-2022", "test.csv", "gold_submission.csv"),
            (
                "text-normalization-challenge-english-language",
                "answers.csv",
                "sample_submission.csv",
            ),
            (
                "text-normalization-challenge-russian-language",
                "answers.csv",
                "sample_submission.csv",
            ),
        ] {
            write(id, name);
            write(id, other);
            let path = answers_path(data, id, None).unwrap();
            assert_eq!(path, data.join(id).join("prepared/private").join(name));
        }
        // A competition that the table does not know has one CSV file, or it is not clear which.
        write("AI4Code", "a.csv");
        assert!(answers_path(data, "AI4Code", None).unwrap().ends_with("a.csv"));
        write("AI4Code", "b.csv");
        let error = answers_path(data, "AI4Code", None).unwrap_err();
        assert!(matches!(error, GradingError::WhichAnswers { found: 2, .. }), "{error}");
    }

    #[test]
    fn only_the_low_split_is_graded() {
        assert!(known_board("spooky-author-identification").is_ok());
        let message = |id| known_board(id).unwrap_err().to_string();
        assert!(message("AI4Code").ends_with("its thresholds are known"));
        assert!(
            message("ventilator-pressure-prediction").ends_with("nor are its thresholds known")
        );
        assert!(message("leaf").contains("did you mean leaf-classification or"));
    }
}
