//! The grader of a competition of MLE-bench, with MLE-bench's rules.

use super::{Grade, GradeError, Grader};
use crate::metrics::{Direction, Metric};
use crate::mlebench::board::Board;
use crate::mlebench::checks::GraderRefusal;
use crate::mlebench::frame::{FrameLimits, PandasFrame};
use crate::mlebench::graders;
use crate::mlebench::grading::{self, GradingError, GradingOutcome};
use crate::mlebench::report::CompetitionReport;
use crate::submission::Part;
use crate::task::{Competition, TaskId};
use crate::thresholds::{Milestone, Thresholds};
use camino::Utf8Path;

/// Bytes that a cell takes at most beside its text, while its column is read.
const CELL_BYTES: u64 = 64;

/// The grader of one competition, with its answers.
///
/// It takes whole files: the originals match rows in ways of their own, some by position, and a
/// score on a share of the rows would be comparable with nothing. So a competition can be played
/// with `validate` feedback only, which is also all that MLE-bench allows.
#[derive(Debug)]
pub struct MleBenchGrader {
    id: TaskId,
    grader: graders::GradeFn,
    answers: PandasFrame,
    /// How large a submission may be.
    limits: FrameLimits,
    board: Board,
}

impl MleBenchGrader {
    /// Reads the competition's answers.
    ///
    /// # Errors
    /// [`GradeError::Competition`] without a grader for it, or if the answers cannot be read.
    pub fn open(competition: &Competition) -> Result<Self, GradeError> {
        let id = competition.id().as_str();
        let unknown = || GradingError::NoGrader { id: id.to_owned(), thresholds: true };
        let grader = graders::grader(id).ok_or_else(unknown).map_err(GradeError::Competition)?;
        let answers =
            grading::read_answers(competition.answers()).map_err(GradeError::Competition)?;
        let limits = FrameLimits::for_submissions(&answers);
        let (id, board) = (competition.id().clone(), competition.board());
        Ok(Self { id, grader, answers, limits, board })
    }

    /// MLE-bench's report of a submission, or of none: with the rounded score, exclusive medals and
    /// whether the median is passed. A file that is no table is refused here, where the original
    /// stops without a report. `path` is where the submission was, or would have been, and
    /// `created_at` is written by [`timestamp`](crate::mlebench::report::timestamp).
    pub fn report(
        &self,
        csv: Option<&[u8]>,
        path: &Utf8Path,
        created_at: String,
    ) -> GradingOutcome {
        let graded = csv.map(|csv| {
            let table = PandasFrame::read_within(csv, self.limits)
                .map_err(|error| GraderRefusal::Invalid(error.to_string()))?;
            (self.grader)(&table, &self.answers)
        });
        let (score, refusal) = match graded {
            None => (None, None),
            Some(Ok(score)) => (Some(score.rounded()), None),
            Some(Err(refusal)) => (None, Some(refusal)),
        };
        let report = CompetitionReport {
            competition_id: self.id.to_string(),
            score,
            board: self.board,
            submission_exists: csv.is_some(),
            created_at,
            submission_path: path.to_string(),
        };
        GradingOutcome { report, refusal }
    }

    /// Medals include their thresholds; the median is passed, not met.
    fn tier(&self, score: f64) -> Option<Milestone> {
        let Board { thresholds, direction } = self.board;
        thresholds.tier(score, direction).filter(|tier| {
            *tier != Milestone::Median || direction.better(score, thresholds.median_threshold)
        })
    }
}

impl Grader for MleBenchGrader {
    fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError> {
        debug_assert_eq!(part, Part::All, "it takes whole files");
        let table = PandasFrame::read_within(csv, self.limits)
            .map_err(|error| GradeError::Refused(error.to_string()))?;
        let score = (self.grader)(&table, &self.answers).map_err(GradeError::Original)?.rounded();
        if !score.is_finite() {
            return Err(GradeError::NoScore);
        }
        Ok(Grade { score, tier: self.tier(score) })
    }

    fn memory(&self, size: u64) -> u64 {
        // A short line is filled in, so that cells take memory that the file does not have.
        let cells = (self.limits.cells as u64).saturating_mul(CELL_BYTES);
        size.saturating_mul(4).saturating_add(cells).saturating_add(1 << 20)
    }

    fn thresholds(&self) -> Thresholds {
        self.board.thresholds
    }

    fn direction(&self) -> Direction {
        self.board.direction
    }

    fn metric(&self) -> Option<Metric> {
        None
    }
}
