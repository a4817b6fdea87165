//! Checks that several graders share, in the original's order.

use super::column::{PandasColumn, Unsortable};
use super::frame::PandasFrame;
use super::score::{self, Score};
use crate::table::shorten;

/// How far the probabilities of a row may be from a sum of 1: NumPy's `isclose` with an absolute
/// tolerance of 1e-6 and its default relative one.
const ROW_SUM_TOLERANCE: f64 = 1e-6 + 1e-5;

/// Why a grader gives no score. Both kinds end in the same report; the original logs them
/// differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraderRefusal {
    /// The grader's own check.
    #[error("invalid submission: {0}")]
    Invalid(String),
    /// What the original runs into: a failed assertion, or a metric that cannot be computed.
    #[error("the grader failed: {0}")]
    Failure(String),
}

impl From<Unsortable> for GraderRefusal {
    fn from(error: Unsortable) -> Self {
        Self::Failure(error.to_string())
    }
}

/// What a grader returns: the score, or why there is none.
pub type Graded = Result<Score, GraderRefusal>;

pub(super) fn invalid<T>(message: impl Into<String>) -> Result<T, GraderRefusal> {
    Err(GraderRefusal::Invalid(message.into()))
}

pub(super) fn failure<T>(message: impl Into<String>) -> Result<T, GraderRefusal> {
    Err(GraderRefusal::Failure(message.into()))
}

/// A column of the submission, which must be there.
pub(super) fn column<'a>(
    submission: &'a PandasFrame,
    name: &str,
) -> Result<&'a PandasColumn, GraderRefusal> {
    let missing = || GraderRefusal::Invalid(format!("there is no column `{name}`"));
    submission.column(name).ok_or_else(missing)
}

/// A column of the answers, which must be there.
pub(super) fn answer<'a>(
    answers: &'a PandasFrame,
    name: &str,
) -> Result<&'a PandasColumn, GraderRefusal> {
    let missing = || GraderRefusal::Failure(format!("the answers have no column `{name}`"));
    answers.column(name).ok_or_else(missing)
}

/// A difference in length, in words.
pub(super) fn same_rows(submission: &PandasFrame, answers: &PandasFrame) -> Result<(), String> {
    let (found, expected) = (submission.rows(), answers.rows());
    if found == expected {
        return Ok(());
    }
    Err(format!("it has {found} rows, the answers have {expected}"))
}

/// Rows of both sides that belong together, as many of the one as of the other.
#[derive(Debug)]
pub(super) struct Aligned {
    pub(super) submission: Vec<usize>,
    pub(super) answers: Vec<usize>,
}

impl Aligned {
    /// Both sides in the order of their ids, whatever these are.
    pub(super) fn by_order(
        submission: &PandasFrame,
        answers: &PandasFrame,
        id: &str,
    ) -> Result<Self, GraderRefusal> {
        Ok(Self {
            submission: column(submission, id)?.order()?,
            answers: answer(answers, id)?.order()?,
        })
    }

    /// Whether the ids are equal position by position. Both sides must have one length.
    fn agrees(&self, submission: &PandasColumn, answers: &PandasColumn) -> bool {
        let mut pairs = self.submission.iter().zip(&self.answers);
        pairs.all(|(a, b)| submission.cell(*a).equals(answers.cell(*b)))
    }

    /// Both sides in the order of their ids, which must be the same.
    pub(super) fn by_id(
        submission: &PandasFrame,
        answers: &PandasFrame,
        id: &str,
    ) -> Result<Self, GraderRefusal> {
        let aligned = Self::by_order(submission, answers, id)?;
        if aligned.agrees(column(submission, id)?, answer(answers, id)?) {
            return Ok(aligned);
        }
        invalid(format!("the values of `{id}` are not those of the answers"))
    }
}

/// `values` in another order.
pub(super) fn take<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|row| values[*row]).collect()
}

/// The cells of `column` as scikit-learn takes scores: numbers, all finite.
pub(super) fn finite(column: &PandasColumn, rows: &[usize]) -> Result<Vec<f64>, GraderRefusal> {
    // Cells of other rows may hold anything.
    let values = rows.iter().map(|row| column.cell(*row).float());
    let Some(values) = values.collect::<Option<Vec<f64>>>() else {
        return failure("a value is not a number");
    };
    if values.iter().all(|value| value.is_finite()) {
        Ok(values)
    } else {
        failure("a value is missing or infinite")
    }
}

/// The area under the ROC curve of one column, by the classes of the rows given.
pub(super) fn area(
    (truth, prediction): (&PandasColumn, &PandasColumn),
    rows: &Aligned,
) -> Result<f64, GraderRefusal> {
    let Some(truth) = score::positives(truth, &rows.answers) else {
        return failure("the answers do not hold two classes");
    };
    let prediction = finite(prediction, &rows.submission)?;
    Ok(score::roc_auc(&truth, &prediction))
}

/// The check of most graders of one probability, then the area under its ROC curve.
pub(super) fn checked_area(
    submission: &PandasFrame,
    answers: &PandasFrame,
    id: &str,
    target: &str,
) -> Result<f64, GraderRefusal> {
    column(submission, id)?;
    let prediction = column(submission, target)?;
    same_rows(submission, answers).or_else(invalid)?;
    let Some(values) = prediction.numbers() else {
        return invalid(format!("a value of `{target}` is not a number"));
    };
    // Missing cells pass, to fail in the metric.
    if values.iter().any(|value| *value < 0.0 || *value > 1.0) {
        return invalid(format!("a value of `{target}` is outside of 0 to 1"));
    }
    let rows = Aligned::by_id(submission, answers, id)?;
    area((answer(answers, target)?, prediction), &rows)
}

/// The check of graders of one label.
pub(super) fn check_labels(
    submission: &PandasFrame,
    answers: &PandasFrame,
    id: &str,
    target: &str,
) -> Result<Aligned, GraderRefusal> {
    same_rows(submission, answers).or_else(invalid)?;
    column(submission, target)?;
    column(submission, id)?;
    Aligned::by_id(submission, answers, id)
}

/// Probabilities of classes, one column each: rows that sum to 1, all within [0, 1]. Texts are
/// what the original fails to add up.
pub(super) fn check_distribution(columns: &[(&str, &PandasColumn)]) -> Result<(), GraderRefusal> {
    let mut values = Vec::new();
    for (name, column) in columns {
        let Some(numbers) = column.numbers() else {
            // The name may be the submission's own.
            return failure(format!("a value of `{}` is not a number", shorten(name)));
        };
        values.push(numbers);
    }
    let rows = values.first().map_or(0, Vec::len);
    for row in 0..rows {
        let total: f64 =
            values.iter().map(|column| column[row]).filter(|value| !value.is_nan()).sum();
        // A sum that is no number is refused, too.
        if (total - 1.0).abs() <= ROW_SUM_TOLERANCE {
            continue;
        }
        return invalid(format!("the probabilities of row {row} sum to {total}, not to 1"));
    }
    if values.iter().flatten().all(|value| (0.0..=1.0).contains(value)) {
        Ok(())
    } else {
        invalid("a probability is missing or outside of 0 to 1")
    }
}

/// The multiclass log loss against answers with one column per class, 1 for the true one and 0
/// for the others. Columns are found by name.
pub(super) fn one_hot_log_loss(
    submission: &PandasFrame,
    answers: &PandasFrame,
    id: &str,
) -> Graded {
    for name in answers.names() {
        column(submission, name)?;
    }
    same_rows(submission, answers).or_else(failure)?;
    // Ids that differ are an assertion in the original, not a check.
    let rows = match Aligned::by_id(submission, answers, id) {
        Err(GraderRefusal::Invalid(message)) => return failure(message),
        rows => rows?,
    };
    let mut of_truth = vec![None; rows.answers.len()];
    for name in answers.names().iter().filter(|name| *name != id) {
        let Some(truth) = answer(answers, name)?.numbers() else {
            return failure(format!("the answers' column `{name}` does not hold 0 and 1"));
        };
        let prediction = finite(column(submission, name)?, &rows.submission)?;
        for ((of_truth, truth), p) in
            of_truth.iter_mut().zip(take(&truth, &rows.answers)).zip(prediction)
        {
            match (truth == 0.0, truth == 1.0, of_truth.is_none()) {
                (true, _, _) => {}
                (_, true, true) => *of_truth = Some(p),
                _ => return failure("a row of the answers has not one class"),
            }
        }
    }
    let Some(of_truth) = of_truth.into_iter().collect::<Option<Vec<f64>>>() else {
        return failure("a row of the answers has no class");
    };
    Ok(Score::Plain(score::log_loss_of_truth(&of_truth)))
}
