//! The cells of tables: from text to [`Values`], strictly, and back.
//!
//! A row is a slice of cells in the order of [`Prediction::columns`] (predictions) or
//! [`Prediction::answer_columns`] (truth), without surrounding spaces.

use crate::boxes::{self, Detection, MAX_BOXES, Object};
use crate::mask::Mask;
use crate::metrics::images::ImageFormat;
use crate::prediction::{MOST_TEXT, Prediction};
use crate::values::Values;
use std::collections::{BTreeMap, BTreeSet};

/// Class probabilities of one row may miss a sum of 1 by this much (rounded CSV output).
const ROW_SUM_TOLERANCE: f64 = 1e-3;

/// The two classes of a probability, and what a label's column in the answers holds.
const BITS: [&str; 2] = ["0", "1"];

/// Bytes of a number in a cell of its own: all the digits that a double can have fit.
pub(crate) const NUMBER: usize = 2 << 10;
/// Bytes of a number of a box, with the space behind it.
const LIST_NUMBER: usize = 256;
/// The confidence and the place of a box.
const BOX_NUMBERS: usize = 5;
/// Lists may be so long in any case: that much is worth a message that fits the mistake.
const SHORT_TEXT: usize = 64 << 10;

/// Why cells were refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CellError {
    /// A cell that does not hold what its column must hold.
    #[error("row {row}, column {column}: it is not {expected}")]
    Value {
        /// The row, counted from 0.
        row: usize,
        /// The prediction column, counted from 0.
        column: usize,
        /// What it must be.
        expected: String,
    },
    /// Class probabilities that do not sum to 1.
    #[error("row {row}: the class probabilities sum to {sum}, not to 1")]
    RowSum {
        /// The row, counted from 0.
        row: usize,
        /// The sum of the row's probabilities.
        sum: f64,
    },
}

/// Reads the cells of a submission, `[rows, columns]`.
///
/// # Errors
/// [`CellError`], the first from the top.
pub fn parse_predicted(prediction: &Prediction, rows: &[&[String]]) -> Result<Values, CellError> {
    fill(Filling::predicted(prediction, rows.len()), rows)
}

/// Reads the cells of an answer file, `[rows, answer columns]`.
///
/// # Errors
/// [`CellError`], the first from the top.
pub fn parse_truth(prediction: &Prediction, rows: &[&[String]]) -> Result<Values, CellError> {
    fill(Filling::truth(prediction, rows.len()), rows)
}

fn fill(mut filling: Filling, rows: &[&[String]]) -> Result<Values, CellError> {
    for (row, cells) in rows.iter().enumerate() {
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        filling.put(row, &cells)?;
    }
    Ok(filling.values())
}

/// The most bytes that a cell of each of [`Prediction::columns`] can need: the larger of what
/// its numbers and names can take and what tells a mistake from an attack.
pub(crate) fn most_bytes(prediction: &Prediction) -> Vec<usize> {
    let longest = |names: &[String]| names.iter().map(String::len).max().unwrap_or(0);
    let digits = |number: usize| number.max(1).ilog10() as usize + 1;
    let text = match prediction {
        Prediction::Number { .. }
        | Prediction::Probability { .. }
        | Prediction::Relevance { .. }
        | Prediction::ClassProbabilities { .. }
        | Prediction::Numbers { .. }
        | Prediction::Quantiles { .. }
        | Prediction::Probabilities { .. } => {
            return vec![NUMBER; prediction.columns().len()];
        }
        Prediction::Label { classes, .. } => return vec![longest(classes).saturating_add(NUMBER)],
        Prediction::Flags { labels, .. } => labels.iter().map(|label| 2 * label.len() + 2).sum(),
        Prediction::Boxes { classes, .. } => {
            MAX_BOXES.saturating_mul(longest(classes) + BOX_NUMBERS * LIST_NUMBER)
        }
        // Every pixel a run of its own.
        Prediction::Mask { width, height, .. } => {
            let pixels = width.saturating_mul(*height);
            pixels.saturating_mul(digits(pixels) + 4)
        }
        Prediction::Pixels { width, height, levels, .. } => {
            let number = digits(*levels as usize) + 3;
            width.saturating_mul(*height).saturating_mul(number)
        }
        Prediction::Text { .. } => MOST_TEXT,
        Prediction::Ids { most, .. } => most.saturating_mul(LIST_NUMBER),
    };
    vec![text.max(SHORT_TEXT)]
}

/// Values of a known number of rows, read row by row in any order.
pub(crate) enum Filling<'a> {
    Numbers { values: Vec<f64>, parse: fn(&str) -> Result<f64, String> },
    Matrix { values: Vec<f64>, columns: usize, parse: fn(&str) -> Result<f64, String>, sum: bool },
    Labels { values: Vec<usize>, names: Names<'a> },
    Bits { values: Vec<bool>, labels: usize, names: Names<'a> },
    Flags { values: Vec<bool>, names: Names<'a> },
    Grades { grades: Vec<u32>, queries: Vec<String> },
    Masks { masks: Vec<Mask>, width: usize, height: usize },
    Objects { rows: Vec<Vec<Object>>, classes: &'a [String] },
    Detections { rows: Vec<Vec<Detection>>, classes: &'a [String] },
    Images { images: Vec<Vec<u16>>, frame: ImageFormat },
    Texts(Vec<String>),
    Ids { rows: Vec<Vec<String>>, least: usize, most: usize },
}

impl<'a> Filling<'a> {
    /// For the cells of a submission.
    pub(crate) fn predicted(prediction: &'a Prediction, rows: usize) -> Self {
        let matrix = |columns: usize, parse, sum| {
            let values = vec![0.0; rows.saturating_mul(columns)];
            Self::Matrix { values, columns, parse, sum }
        };
        match prediction {
            Prediction::Number { .. } | Prediction::Relevance { .. } => {
                Self::Numbers { values: vec![0.0; rows], parse: number }
            }
            Prediction::Probability { .. } => {
                Self::Numbers { values: vec![0.0; rows], parse: probability }
            }
            Prediction::ClassProbabilities { classes, .. } => {
                matrix(classes.len(), probability, true)
            }
            Prediction::Probabilities { columns } => matrix(columns.len(), probability, false),
            Prediction::Quantiles { columns, .. } => matrix(columns.len(), number, false),
            Prediction::Boxes { classes, .. } => {
                Self::Detections { rows: vec![Vec::new(); rows], classes }
            }
            Prediction::Ids { most, .. } => {
                Self::Ids { rows: vec![Vec::new(); rows], least: 0, most: *most }
            }
            Prediction::Label { .. }
            | Prediction::Numbers { .. }
            | Prediction::Flags { .. }
            | Prediction::Mask { .. }
            | Prediction::Pixels { .. }
            | Prediction::Text { .. } => Self::truth(prediction, rows),
        }
    }

    /// For the cells of an answer file.
    pub(crate) fn truth(prediction: &'a Prediction, rows: usize) -> Self {
        match prediction {
            Prediction::Number { .. } | Prediction::Quantiles { .. } => {
                Self::Numbers { values: vec![0.0; rows], parse: number }
            }
            Prediction::Numbers { columns } => {
                let values = vec![0.0; rows.saturating_mul(columns.len())];
                Self::Matrix { values, columns: columns.len(), parse: number, sum: false }
            }
            Prediction::Probability { .. } => {
                Self::Labels { values: vec![0; rows], names: Names::new(BITS) }
            }
            Prediction::Label { classes, .. } | Prediction::ClassProbabilities { classes, .. } => {
                let names = Names::new(classes.iter().map(String::as_str));
                Self::Labels { values: vec![0; rows], names }
            }
            Prediction::Probabilities { columns } => {
                let values = vec![false; rows.saturating_mul(columns.len())];
                Self::Bits { values, labels: columns.len(), names: Names::new(BITS) }
            }
            Prediction::Flags { labels, .. } => {
                let values = vec![false; rows.saturating_mul(labels.len())];
                Self::Flags { values, names: Names::new(labels.iter().map(String::as_str)) }
            }
            Prediction::Relevance { .. } => {
                Self::Grades { grades: vec![0; rows], queries: vec![String::new(); rows] }
            }
            Prediction::Mask { width, height, .. } => {
                Self::Masks { masks: vec![Mask::default(); rows], width: *width, height: *height }
            }
            Prediction::Boxes { classes, .. } => {
                Self::Objects { rows: vec![Vec::new(); rows], classes }
            }
            Prediction::Pixels { width, height, levels, .. } => {
                let frame = ImageFormat { width: *width, height: *height, levels: *levels };
                Self::Images { images: vec![Vec::new(); rows], frame }
            }
            Prediction::Text { .. } => Self::Texts(vec![String::new(); rows]),
            Prediction::Ids { .. } => {
                Self::Ids { rows: vec![Vec::new(); rows], least: 1, most: usize::MAX }
            }
        }
    }

    /// Reads the cells of one row.
    pub(crate) fn put(&mut self, row: usize, cells: &[&str]) -> Result<(), CellError> {
        let fault = |column| move |expected| CellError::Value { row, column, expected };
        match self {
            Self::Numbers { values, parse } => values[row] = parse(cells[0]).map_err(fault(0))?,
            Self::Matrix { values, columns, parse, sum } => {
                let places = &mut values[row * *columns..(row + 1) * *columns];
                for (column, place) in places.iter_mut().enumerate() {
                    *place = parse(cells[column]).map_err(fault(column))?;
                }
                let total: f64 = places.iter().sum();
                if *sum && (total - 1.0).abs() > ROW_SUM_TOLERANCE {
                    return Err(CellError::RowSum { row, sum: total });
                }
            }
            Self::Labels { values, names } => {
                values[row] = names.label(cells[0]).map_err(fault(0))?;
            }
            Self::Bits { values, labels, names } => {
                let places = &mut values[row * *labels..(row + 1) * *labels];
                for (column, place) in places.iter_mut().enumerate() {
                    *place = names.label(cells[column]).map_err(fault(column))? == 1;
                }
            }
            Self::Flags { values, names } => {
                let labels = names.count();
                let places = &mut values[row * labels..(row + 1) * labels];
                names.flags(cells[0], places).map_err(fault(0))?;
            }
            Self::Grades { grades, queries } => {
                let grade = cells[0].parse().map_err(|_| "a grade (0, 1, 2, ...)".to_owned());
                grades[row] = grade.map_err(fault(0))?;
                if cells[1].is_empty() {
                    return Err(fault(1)("a query".to_owned()));
                }
                cells[1].clone_into(&mut queries[row]);
            }
            Self::Masks { masks, width, height } => {
                masks[row] = Mask::parse(cells[0], *width, *height).map_err(fault(0))?;
            }
            Self::Objects { rows, classes } => {
                rows[row] = boxes::parse_objects(cells[0], classes).map_err(fault(0))?;
            }
            Self::Detections { rows, classes } => {
                rows[row] = boxes::parse_detections(cells[0], classes).map_err(fault(0))?;
            }
            Self::Images { images, frame } => {
                images[row] = pixels(cells[0], *frame).map_err(fault(0))?;
            }
            Self::Texts(texts) => texts[row] = text(cells[0]).map_err(fault(0))?,
            Self::Ids { rows, least, most } => {
                rows[row] = ids(cells[0], *least, *most).map_err(fault(0))?;
            }
        }
        Ok(())
    }

    /// All values, in the order of the rows; those of rows that were never put are zero or empty.
    pub(crate) fn values(self) -> Values {
        match self {
            Self::Numbers { values, .. } => Values::Numbers(values),
            Self::Matrix { values, columns, .. } => Values::Matrix { values, columns },
            Self::Labels { values, .. } => Values::Labels(values),
            Self::Bits { values, labels, .. } => Values::Flags { values, labels },
            Self::Flags { values, names } => Values::Flags { values, labels: names.count() },
            Self::Grades { grades, queries } => Values::Grades { grades, queries },
            Self::Masks { masks, .. } => Values::Masks(masks),
            Self::Objects { rows, .. } => Values::Objects(rows),
            Self::Detections { rows, .. } => Values::Detections(rows),
            Self::Images { images, frame } => Values::Images { images, frame },
            Self::Texts(texts) => Values::Texts(texts),
            Self::Ids { rows, .. } => Values::Ids(rows),
        }
    }
}

/// Classes or labels, found by name without going through all of them.
pub(crate) struct Names<'a> {
    list: Vec<&'a str>,
    places: BTreeMap<&'a str, usize>,
    /// Names that are whole numbers, ascending, equal ones in the order of the list.
    whole: Vec<(f64, usize)>,
}

impl<'a> Names<'a> {
    fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        let list: Vec<&str> = names.into_iter().collect();
        let mut places = BTreeMap::new();
        let mut whole = Vec::new();
        for (place, name) in list.iter().enumerate() {
            places.entry(*name).or_insert(place);
            if let Ok(number) = name.parse::<i64>() {
                whole.push((number as f64, place));
            }
        }
        whole.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { list, places, whole }
    }

    fn count(&self) -> usize {
        self.list.len()
    }

    fn label(&self, cell: &str) -> Result<usize, String> {
        // A data frame that once held a missing value writes the class 1 as 1.0.
        let integral = || {
            let value: f64 = cell.parse().ok()?;
            let place = self.whole.partition_point(|(number, _)| *number < value);
            self.whole.get(place).filter(|(number, _)| *number == value).map(|(_, place)| *place)
        };
        let exact = self.places.get(cell).copied();
        exact.or_else(integral).ok_or_else(|| format!("one of [{}]", self.list.join(", ")))
    }

    /// Sets the flags of the labels that a cell names.
    fn flags(&self, cell: &str, flags: &mut [bool]) -> Result<(), String> {
        for name in cell.split_ascii_whitespace() {
            let Some(place) = self.places.get(name) else {
                let list = self.list.join(", ");
                return Err(format!("a list, separated by spaces, of any of [{list}]"));
            };
            if std::mem::replace(&mut flags[*place], true) {
                return Err(format!("a list of different labels: it repeats `{name}`"));
            }
        }
        Ok(())
    }
}

/// The cells of one row, as the two functions above read them; nothing if `values` are not of
/// the kind that `prediction` asks for.
pub fn write(prediction: &Prediction, values: &Values, row: usize) -> Option<Vec<String>> {
    let one = |cell: String| Some(vec![cell]);
    match (prediction, values) {
        (
            Prediction::Number { .. }
            | Prediction::Probability { .. }
            | Prediction::Quantiles { .. }
            | Prediction::Relevance { .. },
            Values::Numbers(values),
        ) => one(values[row].to_string()),
        (
            Prediction::Numbers { .. }
            | Prediction::Quantiles { .. }
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
        (Prediction::Text { .. }, Values::Texts(texts)) => one(texts[row].clone()),
        (Prediction::Ids { .. }, Values::Ids(ids)) => one(ids[row].join(" ")),
        _ => None,
    }
}

fn words<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
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

/// A text as it is, or what is wrong with it.
fn text(cell: &str) -> Result<String, String> {
    if cell.len() > MOST_TEXT {
        return Err(format!("a text of at most {MOST_TEXT} bytes: it has {}", cell.len()));
    }
    if cell.contains(char::is_control) {
        return Err("a text in one line without control characters".to_owned());
    }
    Ok(cell.to_owned())
}

/// The identifiers of a cell, in its order.
fn ids(cell: &str, least: usize, most: usize) -> Result<Vec<String>, String> {
    if cell.contains(char::is_control) {
        return Err("a list of identifiers in one line, separated by spaces".to_owned());
    }
    let found: Vec<&str> = cell.split_whitespace().collect();
    if found.len() < least {
        return Err("a list of one identifier or several, separated by spaces".to_owned());
    }
    if found.len() > most {
        return Err(format!("a list of at most {most} identifiers: it has {}", found.len()));
    }
    let mut seen = BTreeSet::new();
    if let Some(twice) = found.iter().find(|id| !seen.insert(**id)) {
        return Err(format!("a list of different identifiers: it repeats `{twice}`"));
    }
    Ok(found.into_iter().map(str::to_owned).collect())
}

/// The intensities of one image.
fn pixels(cell: &str, frame: ImageFormat) -> Result<Vec<u16>, String> {
    let ImageFormat { width, height, levels } = frame;
    let size = width.saturating_mul(height);
    // No more than the text can hold.
    let mut image = Vec::with_capacity(size.min(cell.len() / 2 + 1));
    let mut count = 0;
    for word in cell.split_ascii_whitespace() {
        match word.parse::<u16>() {
            Ok(value) if u32::from(value) < levels => {
                if count < size {
                    image.push(value);
                }
                count += 1;
            }
            _ => {
                return Err(format!(
                    "a list of whole numbers from 0 to {}, separated by spaces",
                    levels.saturating_sub(1)
                ));
            }
        }
    }
    if count != size {
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
            (
                Prediction::Text { column: column() },
                vec![vec!["three, or \"four\"  äöü"], vec![""]],
                vec![vec![""], vec!["Three"]],
            ),
            (
                Prediction::Ids { column: column(), most: 3 },
                vec![vec!["w_7"], vec!["a b c d e"]],
                vec![vec!["w_1 w_7 w_0"], vec![""]],
            ),
            (
                Prediction::quantiles("y"),
                vec![vec!["1.5"], vec!["-3"]],
                vec![vec!["-1", "2", "3.25"], vec!["3", "2", "1"]],
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
    fn refusals_name_the_mistake() {
        let long = "x".repeat(MOST_TEXT + 1);
        let cells: [(usize, &[&str]); 32] = [
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
            (11, &["two\nlines"]),
            (11, &[&long]),
            (12, &["a b c d"]),
            (12, &["a b a"]),
            (12, &["a\tb"]),
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
            (11, vec!["a\u{0}b"]),
            (12, vec![""]),
            (12, vec!["a a"]),
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
