//! The cells of tables: from text to [`Values`], strictly, and back.
//!
//! A row is a slice of cells in the order of [`Prediction::columns`] (predictions) or
//! [`Prediction::answer_columns`] (truth), without surrounding spaces.

use crate::boxes;
use crate::mask::Mask;
use crate::metrics::images::Frame;
use crate::task::Prediction;
use crate::values::Values;

/// Class probabilities of one row may miss a sum of 1 by this much (rounded CSV output).
const ROW_SUM_TOLERANCE: f64 = 1e-3;

/// Why cells were refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CellError {
    /// A cell that does not hold what its column must hold.
    #[error("row {row}, column {column}: it is not {expected}")]
    Value {
        /// 0-based row.
        row: usize,
        /// 0-based column.
        column: usize,
        /// What it must be.
        expected: String,
    },
    /// Class probabilities that do not sum to 1.
    #[error("row {row}: the class probabilities sum to {sum}, not to 1")]
    RowSum {
        /// 0-based row.
        row: usize,
        /// Their sum.
        sum: f64,
    },
}

/// Reads the cells of a submission, `[rows, columns]`.
///
/// # Errors
/// [`CellError`], the first from the top.
pub fn parse_predicted(prediction: &Prediction, rows: &[&[String]]) -> Result<Values, CellError> {
    Ok(match prediction {
        Prediction::Number { .. } | Prediction::Relevance { .. } => {
            Values::Numbers(column(rows, 0, number)?)
        }
        Prediction::Probability { .. } => Values::Numbers(column(rows, 0, probability)?),
        Prediction::ClassProbabilities { classes, .. } => {
            let values = matrix(rows, probability)?;
            for (row, cells) in values.chunks_exact(classes.len().max(1)).enumerate() {
                let sum: f64 = cells.iter().sum();
                if (sum - 1.0).abs() > ROW_SUM_TOLERANCE {
                    return Err(CellError::RowSum { row, sum });
                }
            }
            Values::Matrix { values, columns: classes.len() }
        }
        Prediction::Probabilities { columns } => {
            Values::Matrix { values: matrix(rows, probability)?, columns: columns.len() }
        }
        Prediction::Boxes { classes, .. } => {
            Values::Detections(column(rows, 0, |cell| boxes::parse_detections(cell, classes))?)
        }
        Prediction::Label { .. }
        | Prediction::Numbers { .. }
        | Prediction::Flags { .. }
        | Prediction::Mask { .. }
        | Prediction::Pixels { .. } => parse_truth(prediction, rows)?,
    })
}

/// Reads the cells of an answer file, `[rows, answer columns]`.
///
/// # Errors
/// [`CellError`], the first from the top.
pub fn parse_truth(prediction: &Prediction, rows: &[&[String]]) -> Result<Values, CellError> {
    let bits = ["0".to_owned(), "1".to_owned()];
    Ok(match prediction {
        Prediction::Number { .. } => Values::Numbers(column(rows, 0, number)?),
        Prediction::Numbers { columns } => {
            Values::Matrix { values: matrix(rows, number)?, columns: columns.len() }
        }
        Prediction::Probability { .. } => Values::Labels(column(rows, 0, label(&bits))?),
        Prediction::Label { classes, .. } | Prediction::ClassProbabilities { classes, .. } => {
            Values::Labels(column(rows, 0, label(classes))?)
        }
        Prediction::Probabilities { columns } => {
            let bit = label(&bits);
            let values = matrix(rows, |cell| bit(cell).map(|bit| bit == 1))?;
            Values::Flags { values, labels: columns.len() }
        }
        Prediction::Flags { labels, .. } => {
            let rows = column(rows, 0, |cell| flags(cell, labels))?;
            Values::Flags { values: rows.concat(), labels: labels.len() }
        }
        Prediction::Relevance { .. } => Values::Grades {
            grades: column(rows, 0, |cell| {
                cell.parse().map_err(|_| "a grade (0, 1, 2, ...)".to_owned())
            })?,
            queries: column(rows, 1, |cell| {
                Some(cell.to_owned()).filter(|cell| !cell.is_empty()).ok_or("a query".to_owned())
            })?,
        },
        Prediction::Mask { width, height, .. } => {
            Values::Masks(column(rows, 0, |cell| Mask::parse(cell, *width, *height))?)
        }
        Prediction::Boxes { classes, .. } => {
            Values::Objects(column(rows, 0, |cell| boxes::parse_objects(cell, classes))?)
        }
        Prediction::Pixels { width, height, levels, .. } => {
            let frame = Frame { width: *width, height: *height, levels: *levels };
            Values::Images { images: column(rows, 0, |cell| pixels(cell, frame))?, frame }
        }
    })
}

/// The cells of one row, as the two functions above read them; nothing if `values` are not of
/// the kind that `prediction` asks for.
pub fn write(prediction: &Prediction, values: &Values, row: usize) -> Option<Vec<String>> {
    let one = |cell: String| Some(vec![cell]);
    match (prediction, values) {
        (
            Prediction::Number { .. }
            | Prediction::Probability { .. }
            | Prediction::Relevance { .. },
            Values::Numbers(values),
        ) => one(values[row].to_string()),
        (
            Prediction::Numbers { .. }
            | Prediction::Probabilities { .. }
            | Prediction::ClassProbabilities { .. },
            Values::Matrix { values, columns },
        ) => Some(words(&values[row * columns..(row + 1) * columns])),
        (Prediction::Probability { .. }, Values::Labels(values)) => one(values[row].to_string()),
        (
            Prediction::Label { classes, .. } | Prediction::ClassProbabilities { classes, .. },
            Values::Labels(values),
        ) => one(classes[values[row]].clone()),
        (Prediction::Probabilities { .. }, Values::Flags { values, labels }) => {
            let bits = values[row * labels..(row + 1) * labels].iter();
            Some(bits.map(|bit| u8::from(*bit).to_string()).collect())
        }
        (Prediction::Flags { labels: names, .. }, Values::Flags { values, labels }) => {
            let flags = names.iter().zip(&values[row * labels..(row + 1) * labels]);
            let held: Vec<&str> =
                flags.filter(|(_, flag)| **flag).map(|(name, _)| name.as_str()).collect();
            one(held.join(" "))
        }
        (Prediction::Relevance { .. }, Values::Grades { grades, queries }) => {
            Some(vec![grades[row].to_string(), queries[row].clone()])
        }
        (Prediction::Mask { .. }, Values::Masks(masks)) => one(masks[row].to_string()),
        (Prediction::Boxes { classes, .. }, Values::Objects(rows)) => {
            one(boxes::join(&rows[row], |object| object.text(classes)))
        }
        (Prediction::Boxes { classes, .. }, Values::Detections(rows)) => {
            one(boxes::join(&rows[row], |detection| detection.text(classes)))
        }
        (Prediction::Pixels { .. }, Values::Images { images, .. }) => {
            one(words(&images[row]).join(" "))
        }
        _ => None,
    }
}

fn words<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// The cells of one column.
fn column<T>(
    rows: &[&[String]],
    column: usize,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CellError> {
    let cell = |(row, cells): (usize, &&[String])| {
        parse(&cells[column]).map_err(|expected| CellError::Value { row, column, expected })
    };
    rows.iter().enumerate().map(cell).collect()
}

/// All cells, row-major `[rows, columns]`.
fn matrix<T>(
    rows: &[&[String]],
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CellError> {
    let cells = rows.iter().enumerate().flat_map(|(row, cells)| {
        cells.iter().enumerate().map(move |(column, cell)| (row, column, cell))
    });
    let parse = |(row, column, cell): (usize, usize, &String)| {
        parse(cell).map_err(|expected| CellError::Value { row, column, expected })
    };
    cells.map(parse).collect()
}

fn number(cell: &str) -> Result<f64, String> {
    cell.parse().ok().filter(|value: &f64| value.is_finite()).ok_or("a finite number".to_owned())
}

fn probability(cell: &str) -> Result<f64, String> {
    number(cell)
        .ok()
        .filter(|value| (0.0..=1.0).contains(value))
        .ok_or("a probability between 0 and 1".to_owned())
}

fn label(classes: &[String]) -> impl Fn(&str) -> Result<usize, String> + '_ {
    move |cell| {
        let exact = classes.iter().position(|class| class == cell);
        // A data frame that once held a missing value writes the class 1 as 1.0.
        let integral = || {
            let value: f64 = cell.parse().ok()?;
            classes.iter().position(|class| class.parse::<i64>().is_ok_and(|c| c as f64 == value))
        };
        exact.or_else(integral).ok_or_else(|| format!("one of [{}]", classes.join(", ")))
    }
}

/// One flag per label.
fn flags(cell: &str, labels: &[String]) -> Result<Vec<bool>, String> {
    let mut flags = vec![false; labels.len()];
    for name in cell.split_ascii_whitespace() {
        let Some(place) = labels.iter().position(|label| label == name) else {
            return Err(format!("a list, separated by spaces, of any of [{}]", labels.join(", ")));
        };
        if std::mem::replace(&mut flags[place], true) {
            return Err(format!("a list of different labels: it repeats `{name}`"));
        }
    }
    Ok(flags)
}

/// The intensities of one image.
fn pixels(cell: &str, frame: Frame) -> Result<Vec<u16>, String> {
    let Frame { width, height, levels } = frame;
    let intensity = |word: &str| word.parse().ok().filter(|value| u32::from(*value) < levels);
    let image: Option<Vec<u16>> = cell.split_ascii_whitespace().map(intensity).collect();
    let Some(image) = image else {
        return Err(format!(
            "a list of whole numbers from 0 to {}, separated by spaces",
            levels.saturating_sub(1)
        ));
    };
    if image.len() != width.saturating_mul(height) {
        let count = image.len();
        return Err(format!("an image of {width} x {height} pixels: it has {count} numbers"));
    }
    Ok(image)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    type Rows = Vec<Vec<&'static str>>;

    /// One prediction of each kind, with rows of truth and of a submission.
    fn kinds() -> Vec<(Prediction, Rows, Rows)> {
        let column = || "y".to_owned();
        vec![
            (Prediction::Number { column: column() }, vec![vec!["1.5"]], vec![vec!["-0.25"]]),
            (Prediction::Probability { column: column() }, vec![vec!["1"]], vec![vec!["0.75"]]),
            (
                Prediction::Label { column: column(), classes: words("cat dog") },
                vec![vec!["cat"], vec!["dog"]],
                vec![vec!["dog"], vec!["dog"]],
            ),
            (
                Prediction::ClassProbabilities { column: column(), classes: words("cat dog") },
                vec![vec!["cat"], vec!["dog"]],
                vec![vec!["0.25", "0.75"], vec!["1", "0"]],
            ),
            (
                Prediction::Numbers { columns: words("u v") },
                vec![vec!["1", "2"], vec!["3", "4.5"]],
                vec![vec!["-1", "2"], vec!["3", "0.000001"]],
            ),
            (
                Prediction::Probabilities { columns: words("cat dog") },
                vec![vec!["1", "1"], vec!["0", "0"]],
                vec![vec!["0.5", "1"], vec!["0", "0.125"]],
            ),
            (
                Prediction::Flags { column: column(), labels: words("cat dog eel") },
                vec![vec!["cat eel"], vec![""]],
                vec![vec![""], vec!["cat dog eel"]],
            ),
            (
                Prediction::Relevance { column: column(), query: "q".to_owned() },
                vec![vec!["0", "first"], vec!["3", "second"]],
                vec![vec!["-7.5"], vec!["0.5"]],
            ),
            (
                Prediction::Mask { column: column(), width: 4, height: 3 },
                vec![vec!["1 2 5 1"], vec![""]],
                vec![vec!["12 1"], vec!["1 12"]],
            ),
            (
                Prediction::Boxes { column: column(), classes: words("cat dog") },
                vec![vec!["cat 0 0 2.5 3 dog 1 1 1 1"], vec![""]],
                vec![vec![""], vec!["dog 0.5 -1 0 2.5 3"]],
            ),
            (
                Prediction::Pixels { column: column(), width: 2, height: 2, levels: 16 },
                vec![vec!["0 15 3 4"]],
                vec![vec!["1 2 3 4"]],
            ),
        ]
    }

    fn owned(rows: &[Vec<&str>]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    fn slices(rows: &[Vec<String>]) -> Vec<&[String]> {
        rows.iter().map(Vec::as_slice).collect()
    }

    fn written(prediction: &Prediction, values: &Values) -> Vec<Vec<String>> {
        (0..values.len()).map(|row| write(prediction, values, row).unwrap()).collect()
    }

    #[test]
    fn cells_of_every_kind_round_trip() {
        for (prediction, truth, predicted) in kinds() {
            let (truth, predicted) = (owned(&truth), owned(&predicted));
            let values = parse_truth(&prediction, &slices(&truth)).unwrap();
            assert_eq!(written(&prediction, &values), truth);
            let values = parse_predicted(&prediction, &slices(&predicted)).unwrap();
            assert_eq!(written(&prediction, &values), predicted);
        }
    }

    #[test]
    fn refusals_say_what_to_mend() {
        let cells: [(usize, &[&str]); 27] = [
            (4, &["1", ""]),
            (5, &["1.5", "0"]),
            (6, &["cat, dog"]),
            (6, &["cat cow"]),
            (6, &["cat dog cat"]),
            (7, &["high"]),
            (8, &["1 2 3"]),
            (8, &["1,2"]),
            (8, &["0 2"]),
            (8, &["2 0"]),
            (8, &["5 2 1 1"]),
            (8, &["1 3 3 1"]),
            (8, &["12 2"]),
            (8, &["13 1"]),
            (8, &["1 99999999999999999999"]),
            (9, &["cat 0 0 1 1"]),
            (9, &["cow .5 0 0 1 1"]),
            (9, &["cat .5 0 0 1 1 dog 1.5 0 0 1 1"]),
            (9, &["cat .5 0 nan 1 1"]),
            (9, &["cat .5 0 0 1e9 1"]),
            (9, &["cat .5 0 0 0 1"]),
            (10, &["0 1 2 16"]),
            (10, &["0 1 2 -1"]),
            (10, &["0 1 2 .5"]),
            (10, &["0 1 2"]),
            (10, &["0 1 2 3 4"]),
            (10, &[""]),
        ];
        let kinds = kinds();
        let refusal = |(kind, row): (usize, &[&str])| {
            let row = owned(&[row.to_vec()]);
            let error = parse_predicted(&kinds[kind].0, &slices(&row)).unwrap_err();
            format!("{row:?} {error}")
        };
        insta::assert_snapshot!(cells.map(refusal).join("\n"));
    }

    #[test]
    fn too_many_boxes_are_refused() {
        let prediction = &kinds()[9].0;
        let parse = |count| {
            let row = vec![vec!["cat .5 0 0 1 1"; count].join(" ")];
            parse_predicted(prediction, &[row.as_slice()])
        };
        assert!(parse(boxes::MAX_BOXES).is_ok());
        let error = parse(boxes::MAX_BOXES + 1).unwrap_err();
        assert!(error.to_string().contains("at most 100 boxes"), "{error}");
    }

    #[test]
    fn malformed_answers_are_refused() {
        for (kind, row) in [
            (5, vec!["0.5", "1"]),
            (7, vec!["-1", "q"]),
            (7, vec!["1.0", "q"]),
            (7, vec!["1", ""]),
            (9, vec!["cat .5 0 0 1 1"]),
        ] {
            let row = owned(&[row]);
            assert!(parse_truth(&kinds()[kind].0, &slices(&row)).is_err(), "{row:?}");
        }
    }

    #[test]
    fn values_of_another_kind_are_not_written() {
        let values = Values::Masks(vec![Mask::default()]);
        assert_eq!(write(&kinds()[0].0, &values, 0), None);
    }

    proptest! {
        #[test]
        fn any_cells_are_read_or_refused(
            cells in proptest::collection::vec("(cat|dog|[0-9.e+ -]|nan|inf|\\PC){0,12}", 2),
        ) {
            for (prediction, ..) in kinds() {
                let row = [cells.as_slice()];
                let _ = (parse_predicted(&prediction, &row), parse_truth(&prediction, &row));
            }
        }

        #[test]
        fn numbers_round_trip(numbers in proptest::collection::vec(-1e300..1e300f64, 3)) {
            let prediction = Prediction::Numbers { columns: words("a b c") };
            let values = Values::Matrix { values: numbers, columns: 3 };
            let cells = written(&prediction, &values);
            prop_assert_eq!(parse_predicted(&prediction, &slices(&cells)).unwrap(), values);
        }
    }
}
