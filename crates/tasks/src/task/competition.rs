//! A competition as MLE-bench prepares it: `<id>/prepared/{public,private}`.

use super::data_source::StandIn;
use super::error::TaskError;
use super::id::TaskId;
use super::open::Opening;
use crate::mlebench::board::Board;
use crate::mlebench::grading;
use camino::{Utf8Path, Utf8PathBuf};

/// One of the 22 competitions of low complexity, whose graders are built in.
#[derive(Debug, Clone, PartialEq)]
pub struct Competition {
    id: TaskId,
    answers: Utf8PathBuf,
    board: Board,
    stand_in: Option<StandIn>,
}

impl Competition {
    /// Finds the answers and the thresholds of the competition that the folder is named after:
    /// those that a checkout of mle-bench names, else those of the built-in table.
    pub(super) fn open(path: &Utf8Path, opening: &Opening) -> Result<Self, TaskError> {
        let path = path.canonicalize_utf8()?;
        let broken = |source| TaskError::Competition { path: path.clone(), source };
        let name = path.file_name().unwrap_or_default();
        let data = path.parent().unwrap_or(&path);
        let checkout = opening.checkout.as_deref();
        let board = grading::board(name, checkout).map_err(broken)?;
        let answers = grading::answers_path(data, name, checkout).map_err(broken)?;
        if !answers.is_file() {
            let missing = answers.strip_prefix(&path).unwrap_or(&answers).to_string();
            return Err(TaskError::Incomplete { path, missing });
        }
        let stand_in = StandIn::read(&path)?;
        Ok(Self { id: TaskId::new(name)?, answers, board, stand_in })
    }

    /// The competition's name, which is the task's.
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// Where the answers are.
    pub(crate) fn answers(&self) -> &Utf8Path {
        &self.answers
    }

    /// How its data was invented; `None` for real data.
    pub fn stand_in(&self) -> Option<&StandIn> {
        self.stand_in.as_ref()
    }

    /// Medal thresholds, and whether lower or higher scores are better.
    pub fn board(&self) -> Board {
        self.board
    }
}
