//! A task as the SandMLE paper's authors released theirs: data, answers and evaluator in one
//! folder, `prepared/public`. The agent gets a view of it without the files that reveal answers;
//! only the evaluator's box gets the whole folder.

use super::error::TaskError;
use super::id::TaskId;
use super::kind;
use super::public::PublicDir;
use super::view::View;
use camino::Utf8Path;
use std::sync::Arc;

/// The script that grades.
pub const EVALUATOR: &str = "evaluator.py";
/// What it compares with.
pub const ANSWERS: &str = "answer.csv";
/// What a submission must look like.
pub const SAMPLE: &str = "sample_submission.csv";

/// Names, without their ends, of files that are for graders.
const SECRET_STEMS: [&str; 8] = [
    "answer",
    "answers",
    "evaluator",
    "threshold",
    "thresholds",
    "solution",
    "ground_truth",
    "generate_task_env",
];
/// Programs, which are the generator's or the evaluator's: the paper's public data has none.
const PROGRAM_ENDS: [&str; 4] = ["py", "pyc", "pyo", "ipynb"];

/// A task as the paper's authors released it.
#[derive(Debug, Clone)]
pub struct Bundle {
    id: TaskId,
    whole: PublicDir,
    shown: PublicDir,
}

impl Bundle {
    /// Makes the agent's view of the bundle in `path`.
    pub(super) fn open(path: &Utf8Path) -> Result<Self, TaskError> {
        let path = path.canonicalize_utf8()?;
        let whole = path.join(kind::PUBLIC);
        if !whole.join(SAMPLE).is_file() {
            let missing = format!("{}/{SAMPLE}", kind::PUBLIC);
            return Err(TaskError::Incomplete { path, missing });
        }
        let view = View::without(&whole, is_secret)?;
        Ok(Self {
            id: TaskId::from_folder_name(path.file_name().unwrap_or_default())?,
            whole: PublicDir::plain(whole),
            shown: PublicDir::filtered(Arc::new(view)),
        })
    }

    /// The task's name, made of the folder's.
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// What the agent sees.
    pub fn shown(&self) -> &PublicDir {
        &self.shown
    }

    /// The folder as released. Only for the evaluator's box.
    pub fn whole(&self) -> &PublicDir {
        &self.whole
    }
}

/// Whether a file or folder of a bundle is kept from agents.
fn is_secret(name: &Utf8Path) -> bool {
    let lower = |part: Option<&str>| part.unwrap_or_default().to_ascii_lowercase();
    let (whole, stem, end) =
        (lower(name.file_name()), lower(name.file_stem()), lower(name.extension()));
    whole.starts_with('.')
        || whole == "__pycache__"
        || SECRET_STEMS.contains(&stem.as_str())
        || PROGRAM_ENDS.contains(&end.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_reveal_answers_are_withheld_and_data_is_shown() {
        for name in
            ["answer.csv", "Answers.JSON", "deep/evaluator.py", "threshold.json", "x/__pycache__"]
        {
            assert!(is_secret(name.into()), "{name}");
        }
        for name in ["train.csv", "sample_submission.csv", "images/answered.png", "description.md"]
        {
            assert!(!is_secret(name.into()), "{name}");
        }
    }
}
