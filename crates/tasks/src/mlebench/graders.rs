//! The graders of the 22 competitions of low complexity. Each takes the submission and the
//! answers; what it refuses, and in which order, is the original's.

use super::checks::{
    Aligned, Graded, GraderRefusal, answer, area, check_distribution, check_labels, checked_area,
    column, failure, finite, invalid, one_hot_log_loss, same_rows, take,
};
use super::column::{PandasCell, PandasColumn};
use super::frame::PandasFrame;
use super::score::{self, Score};
use crate::metrics::{classification, regression};
use crate::table::shorten;
use std::collections::BTreeSet;

/// Grades a submission against the answers.
pub type GradeFn = fn(&PandasFrame, &PandasFrame) -> Graded;

/// The graders by competition.
pub const GRADERS: [(&str, GradeFn); 22] = [
    ("aerial-cactus-identification", |s, a| one_area(s, a, "id", "has_cactus")),
    ("aptos2019-blindness-detection", blindness),
    ("denoising-dirty-documents", documents),
    ("detecting-insults-in-social-commentary", |s, a| one_area(s, a, "Comment", "Insult")),
    ("dog-breed-identification", breeds),
    ("dogs-vs-cats-redux-kernels-edition", dogs),
    ("histopathologic-cancer-detection", |s, a| one_area(s, a, "id", "label")),
    ("jigsaw-toxic-comment-classification-challenge", toxicity),
    ("leaf-classification", leaves),
    ("mlsp-2013-birds", |s, a| one_area(s, a, "Id", "Probability")),
    ("new-york-city-taxi-fare-prediction", fares),
    ("nomad2018-predict-transparent-conductors", conductors),
    ("plant-pathology-2020-fgvc7", plants),
    ("random-acts-of-pizza", |s, a| one_area(s, a, "request_id", "requester_received_pizza")),
    ("ranzcr-clip-catheter-line-classification", catheters),
    ("siim-isic-melanoma-classification", |s, a| one_area(s, a, "image_name", "target")),
    ("spooky-author-identification", authors),
    ("tabular-playground-series-dec-2021", covers),
    ("tabular-playground-series-may-2022", |s, a| one_area(s, a, "id", "target")),
    ("text-normalization-challenge-english-language", normalized),
    ("text-normalization-challenge-russian-language", normalized),
    ("the-icml-2013-whale-challenge-right-whale-redux", |s, a| {
        one_area(s, a, "clip", "probability")
    }),
];

/// The grader of a competition.
///
/// # Examples
/// ```rust
/// use tasks::mlebench::frame::PandasFrame;
/// use tasks::mlebench::graders::grader;
///
/// let grade = grader("random-acts-of-pizza").expect("a competition of low complexity");
/// let answers = PandasFrame::read(b"request_id,requester_received_pizza\na,1\nb,0\n")?;
/// let submission = PandasFrame::read(b"request_id,requester_received_pizza\nb,0.2\na,0.7\n")?;
/// assert_eq!(grade(&submission, &answers)?.rounded(), 1.0);
///
/// let short = PandasFrame::read(b"request_id,requester_received_pizza\nb,0.2\n")?;
/// assert!(grade(&short, &answers).is_err(), "a row is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn grader(competition: &str) -> Option<GradeFn> {
    GRADERS.iter().find(|(id, _)| *id == competition).map(|(_, grader)| *grader)
}

fn one_area(submission: &PandasFrame, answers: &PandasFrame, id: &str, target: &str) -> Graded {
    checked_area(submission, answers, id, target).map(Score::NumPy)
}

/// The ids of a column as a set in Python: numbers are equal across types.
fn id_set(column: &PandasColumn) -> BTreeSet<(bool, String)> {
    let key = |cell: PandasCell<&str>| match cell {
        PandasCell::Text(text) => (true, text.to_owned()),
        PandasCell::Missing => (false, String::new()),
        PandasCell::Boolean(value) => (false, u8::from(value).to_string()),
        PandasCell::Integer(value) => (false, value.to_string()),
        PandasCell::Unsigned(value) => (false, value.to_string()),
        // Whole ones print like integers, zero without its sign.
        PandasCell::Float(value) => (false, (value + 0.0).to_string()),
    };
    column.cells().map(key).collect()
}

/// Whether two columns hold the same set of ids. A missing number equals nothing, not even
/// itself.
fn same_ids(a: &PandasColumn, b: &PandasColumn) -> bool {
    let unequal = |column: &PandasColumn| matches!(column, PandasColumn::Floats(cells) if cells.iter().any(|cell| cell.is_nan()));
    !unequal(a) && !unequal(b) && id_set(a) == id_set(b)
}

/// Labels that scikit-learn takes for such: whole numbers of one type.
fn whole(column: &PandasColumn, rows: &[usize]) -> Result<Vec<f64>, GraderRefusal> {
    let numbers = match column {
        PandasColumn::Objects(_) => None,
        column => column.numbers(),
    };
    let Some(values) = numbers else {
        return failure("texts stand where numbers must, or numbers of several types");
    };
    let values = take(&values, rows);
    if values.iter().all(|value| value.is_finite() && value.fract() == 0.0) {
        Ok(values)
    } else {
        failure("a label is missing or not a whole number")
    }
}

/// Quadratic kappa. Duplicated ids are first noticed by the metric, as a difference in length.
fn blindness(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let (id, target) = ("id_code", "diagnosis");
    let prediction = column(submission, target)?;
    if submission.rows() == 0 {
        return invalid("it has no rows");
    }
    let Some(ids) = submission.column(id) else {
        return failure(format!("there is no column `{id}`"));
    };
    if !same_ids(ids, answer(answers, id)?) {
        return invalid(format!("the values of `{id}` are not those of the answers"));
    }
    let rows = Aligned::by_order(submission, answers, id)?;
    same_rows(submission, answers).or_else(failure)?;
    let truth = whole(answer(answers, target)?, &rows.answers)?;
    let prediction = whole(prediction, &rows.submission)?;
    Ok(Score::NumPy(score::quadratic_kappa(&truth, &prediction)))
}

/// Root mean squared error over pixels, without a check of their range.
fn documents(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let (id, target) = ("id", "value");
    column(submission, id)?;
    if column(submission, target)?.floats().is_none() {
        return invalid(format!("a value of `{target}` is not a number"));
    }
    same_rows(submission, answers).or_else(invalid)?;
    let rows = Aligned::by_id(submission, answers, id)?;
    root_mean_squared_error(submission, answers, target, &rows)
}

/// Root mean squared error with both sides sorted by key. Keys are never compared.
fn fares(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let (id, target) = ("key", "fare_amount");
    column(submission, target)?;
    let rows = Aligned::by_order(submission, answers, id)?;
    same_rows(submission, answers).or_else(failure)?;
    root_mean_squared_error(submission, answers, target, &rows)
}

fn root_mean_squared_error(
    submission: &PandasFrame,
    answers: &PandasFrame,
    target: &str,
    rows: &Aligned,
) -> Graded {
    let truth = finite(answer(answers, target)?, &rows.answers)?;
    let prediction = finite(column(submission, target)?, &rows.submission)?;
    if truth.is_empty() {
        return failure("there are no rows");
    }
    Ok(Score::NumPy(regression::rmse(&truth, &prediction)))
}

/// Mean of two root mean squared log errors, row by row as they stand: there is no id.
fn conductors(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let targets = ["formation_energy_ev_natom", "bandgap_energy_ev"];
    for target in targets {
        column(submission, target)?;
    }
    same_rows(submission, answers).or_else(invalid)?;
    let rows: Vec<usize> = (0..submission.rows()).collect();
    if rows.is_empty() {
        return failure("there are no rows");
    }
    let mut sides = Vec::new();
    for target in targets {
        let truth = finite(answer(answers, target)?, &rows)?;
        sides.push((truth, finite(column(submission, target)?, &rows)?));
    }
    match score::mean_columnwise_rmsle(&sides) {
        Some(value) => Ok(Score::NumPy(value)),
        None => failure("a value is negative"),
    }
}

/// Multiclass log loss; columns beyond the breeds are ignored.
fn breeds(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let id = "id";
    let classes = classes(submission, answers, id)?;
    column(submission, id)?;
    same_rows(submission, answers).or_else(invalid)?;
    check_distribution(&classes)?;
    one_hot_log_loss(submission, answers, id)
}

/// Multiclass log loss; no column may be added.
fn leaves(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let id = "id";
    same_columns(submission, answers)?;
    same_rows(submission, answers).or_else(invalid)?;
    check_distribution(&classes(submission, answers, id)?)?;
    one_hot_log_loss(submission, answers, id)
}

/// Multiclass log loss over three authors, in any order, but behind the id: whatever comes
/// first is not checked to be one.
fn authors(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    if submission.rows() != answers.rows() || submission.names().len() != 4 {
        return invalid("it has not the shape of the answers");
    }
    let columns: Vec<(&str, &PandasColumn)> =
        submission.names().iter().map(String::as_str).zip(submission.columns()).skip(1).collect();
    let objects = columns.iter().find(|(_, column)| matches!(column, PandasColumn::Objects(_)));
    if let Some((name, _)) = objects {
        return invalid(format!("a value of `{}` is not a number", shorten(name)));
    }
    check_distribution(&columns)?;
    one_hot_log_loss(submission, answers, "id")
}

/// The columns of the submission that the answers have beside the id.
fn classes<'a>(
    submission: &'a PandasFrame,
    answers: &'a PandasFrame,
    id: &str,
) -> Result<Vec<(&'a str, &'a PandasColumn)>, GraderRefusal> {
    let names = answers.names().iter().map(String::as_str).filter(|name| *name != id);
    names.map(|name| Ok((name, column(submission, name)?))).collect()
}

fn same_columns(submission: &PandasFrame, answers: &PandasFrame) -> Result<(), GraderRefusal> {
    let names = |frame: &PandasFrame| frame.names().iter().cloned().collect::<BTreeSet<_>>();
    if names(submission) == names(answers) {
        return Ok(());
    }
    invalid("its columns are not those of the answers")
}

/// Binary log loss. Ids are compared as sets, so that what is repeated goes unnoticed where the
/// lengths agree.
fn dogs(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let (id, target) = ("id", "label");
    let (ids, prediction) = (column(submission, id)?, column(submission, target)?);
    if !same_ids(ids, answer(answers, id)?) {
        return invalid(format!("the values of `{id}` are not those of the answers"));
    }
    same_rows(submission, answers).or_else(invalid)?;
    let Some(values) = prediction.numbers() else {
        return failure(format!("a value of `{target}` is not a number"));
    };
    if !values.iter().all(|value| (0.0..=1.0).contains(value)) {
        return invalid(format!("a value of `{target}` is missing or outside of 0 to 1"));
    }
    let rows = Aligned::by_order(submission, answers, id)?;
    let Some(truth) = score::positives(answer(answers, target)?, &rows.answers) else {
        return failure("the answers do not hold two classes");
    };
    let truth: Vec<usize> = truth.into_iter().map(usize::from).collect();
    let values = take(&values, &rows.submission);
    Ok(Score::Plain(classification::binary_log_loss(&truth, &values)))
}

/// Mean of six areas. The answers mark rows that do not count with labels of -1. Columns are
/// compared as they stand, not by name, so that reordered ones are scored as something else.
fn toxicity(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let id = "id";
    let labels = ["toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate"];
    for name in [id].into_iter().chain(labels) {
        column(submission, name)?;
    }
    same_rows(submission, answers).or_else(failure)?;
    let mut rows = Aligned::by_order(submission, answers, id)?;
    let (ids, known) = (column(submission, id)?, answer(answers, id)?);
    let mut sums = vec![0.0; answers.rows()];
    for name in labels {
        let Some(values) = answer(answers, name)?.numbers() else {
            return failure(format!("the answers' column `{name}` does not hold numbers"));
        };
        sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
    }
    // A row of the submission counts if that of the answers with its id does.
    let mut counted = Vec::new();
    let mut next = 0;
    for row in &rows.submission {
        let cell = ids.cell(*row);
        // Both sides are sorted, and a repeated id meets the same row again.
        while next < rows.answers.len() && !known.cell(rows.answers[next]).equals(cell) {
            next += 1;
        }
        let Some(place) = rows.answers.get(next) else {
            return failure(format!("a value of `{id}` is not in the answers"));
        };
        if sums[*place] >= 0.0 {
            counted.push(*row);
        }
    }
    rows.submission = counted;
    rows.answers.retain(|row| sums[*row] >= 0.0);
    let sides = |frame: &PandasFrame| -> Vec<PandasColumn> {
        let columns = frame.names().iter().zip(frame.columns());
        columns.filter(|(name, _)| *name != id).map(|(_, column)| column.clone()).collect()
    };
    let (truth, prediction) = (sides(answers), sides(submission));
    if truth.len() != prediction.len() || rows.submission.len() != rows.answers.len() {
        return failure("the tables differ in shape");
    }
    mean_area(truth.iter().zip(&prediction), &rows)
}

/// Mean of four areas.
fn plants(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let id = "image_id";
    same_rows(submission, answers).or_else(invalid)?;
    same_columns(submission, answers)?;
    let rows = Aligned::by_id(submission, answers, id)?;
    let labels = ["healthy", "multiple_diseases", "rust", "scab"];
    let mut sides = Vec::new();
    for name in labels {
        sides.push((answer(answers, name)?, column(submission, name)?));
    }
    mean_area(sides.into_iter(), &rows)
}

fn mean_area<'a>(
    sides: impl Iterator<Item = (&'a PandasColumn, &'a PandasColumn)>,
    rows: &Aligned,
) -> Graded {
    let areas = sides
        .map(|(truth, prediction)| area((truth, prediction), rows))
        .collect::<Result<Vec<f64>, GraderRefusal>>()?;
    Ok(Score::NumPy(score::mean(&areas)))
}

/// Mean of nine areas, each with the checks of one.
fn catheters(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let id = "StudyInstanceUID";
    let labels = [
        "ETT - Abnormal",
        "ETT - Borderline",
        "ETT - Normal",
        "NGT - Abnormal",
        "NGT - Borderline",
        "NGT - Incompletely Imaged",
        "NGT - Normal",
        "CVC - Abnormal",
        "CVC - Borderline",
    ];
    for name in [id].into_iter().chain(labels) {
        column(submission, name)?;
    }
    same_rows(submission, answers).or_else(failure)?;
    let areas = labels
        .into_iter()
        .map(|name| checked_area(submission, answers, id, name))
        .collect::<Result<Vec<f64>, GraderRefusal>>()?;
    Ok(Score::NumPy(score::mean(&areas)))
}

/// Accuracy of labels that are whole numbers. One text cell makes the whole column texts, and
/// none of these equals a number.
fn covers(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let target = "Cover_Type";
    let rows = check_labels(submission, answers, "Id", target)?;
    let prediction = column(submission, target)?;
    let truth = whole(answer(answers, target)?, &rows.answers)?;
    let distinct = |column: &PandasColumn| id_set(column).len();
    let is_text = |cell: PandasCell<&str>| matches!(cell, PandasCell::Text(_));
    if prediction.cells().len() > 0 && prediction.cells().all(is_text) {
        // Two sides of at most two classes each are made one, which texts and numbers refuse.
        if distinct(prediction) <= 2 && distinct(answer(answers, target)?) <= 2 {
            return failure("texts stand where numbers must");
        }
        return Ok(Score::Plain(0.0));
    }
    let prediction = whole(prediction, &rows.submission)?;
    share(truth.iter().zip(&prediction).map(|(t, p)| t == p))
}

/// Share of tokens whose text is exact. Columns of numbers are printed first, so that `007` is
/// `7`, and everything that stands for a missing cell is the same.
fn normalized(submission: &PandasFrame, answers: &PandasFrame) -> Graded {
    let target = "after";
    let rows = check_labels(submission, answers, "id", target)?;
    let truth = answer(answers, target)?.texts();
    let prediction = column(submission, target)?.texts();
    share(rows.answers.iter().zip(&rows.submission).map(|(t, p)| truth[*t] == prediction[*p]))
}

fn share(equal: impl ExactSizeIterator<Item = bool>) -> Graded {
    let count = equal.len();
    if count == 0 {
        return failure("there are no rows");
    }
    Ok(Score::Plain(equal.filter(|equal| *equal).count() as f64 / count as f64))
}
