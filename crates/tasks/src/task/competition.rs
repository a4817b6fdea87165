//! A competition as MLE-bench prepares it: `<id>/prepared/{public,private}`.

use super::competition_rules::CompetitionRules;
use super::data_source::StandIn;
use super::error::TaskError;
use super::id::TaskId;
use super::kind::PRIVATE;
use super::open::Opening;
use crate::mlebench::board::{self, Board};
use crate::mlebench::grading;
use camino::{Utf8Path, Utf8PathBuf};

/// The answers of a competition with rules of its own.
const ANSWERS: &str = "answers.csv";

/// One of the 22 competitions of low complexity, whose graders are built in, or one with rules of its
/// own.
#[derive(Debug, Clone, PartialEq)]
pub struct Competition {
    id: TaskId,
    answers: Utf8PathBuf,
    board: Board,
    rules: Option<CompetitionRules>,
    stand_in: Option<StandIn>,
}

impl Competition {
    /// Finds the answers and the thresholds of the competition that the folder is named after:
    /// those that a checkout of mle-bench names, else those of the built-in table; of a name that
    /// MLE-bench does not have, those of its rules.
    pub(super) fn open(path: &Utf8Path, opening: &Opening) -> Result<Self, TaskError> {
        let path = path.canonicalize_utf8()?;
        let broken = |source| TaskError::Competition { path: path.clone(), source };
        let name = path.file_name().unwrap_or_default();
        let data = path.parent().unwrap_or(&path);
        let checkout = opening.checkout.as_deref();
        let rules = match board::competition(name) {
            Some(_) => None,
            None => CompetitionRules::read(&path)?,
        };
        let (board, answers) = match &rules {
            Some(rules) => (rules.board(), path.join(PRIVATE).join(ANSWERS)),
            None => (
                grading::board(name, checkout).map_err(broken)?,
                grading::answers_path(data, name, checkout).map_err(broken)?,
            ),
        };
        if !answers.is_file() {
            let missing = answers.strip_prefix(&path).unwrap_or(&answers).to_string();
            return Err(TaskError::Incomplete { path, missing });
        }
        let stand_in = StandIn::read(&path)?;
        Ok(Self { id: TaskId::new(name)?, answers, board, rules, stand_in })
    }

    /// The competition's name, which is the task's.
    pub fn id(&self) -> &TaskId {
        &self.id
    }

    /// Where the answers are.
    pub(crate) fn answers(&self) -> &Utf8Path {
        &self.answers
    }

    /// Rules of its own; `None` of MLE-bench's competitions.
    pub fn rules(&self) -> Option<&CompetitionRules> {
        self.rules.as_ref()
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
