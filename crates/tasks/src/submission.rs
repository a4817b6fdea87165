//! From the bytes of a CSV file to predictions aligned with the answers.
//!
//! Parsing is strict and bounded: anything but one well-formed row per test id is refused with
//! a message that the agent can act on, at the first row that is wrong. Row and column order do
//! not matter. Cutting a file into rows is the business of `table`, what the cells mean that of
//! [`crate::cells`], what they are worth that of [`crate::values`].

use crate::cells::{self, CellError, Filling};
use crate::metrics::{Metric, MetricError};
use crate::prediction::Prediction;
use crate::stream::Stream;
use crate::table::{CsvRow, CsvTable, shorten};
use crate::values::{self, Values};
use camino::Utf8Path;
use std::collections::BTreeMap;

/// The largest submission in bytes; larger ones are refused unread.
pub const MOST_BYTES: u64 = 64 << 20;

/// Bytes of an id beside those of the longest one: spaces around it.
const ID_SLACK: usize = 64;

/// Why a table was refused, worded for the agent that wrote it.
#[derive(Debug, thiserror::Error)]
pub enum SubmissionError {
    /// The file could not be read (answers only; submissions arrive as bytes).
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The file holds no row, or not even a header.
    #[error("the file is empty; write a header and one row per test id")]
    Empty,
    /// Broken bytes or quoting.
    #[error("not a readable UTF-8 CSV file: {0}")]
    Csv(String),
    /// The header has not exactly the columns of the sample submission.
    #[error("the columns are [{}], expected exactly [{}]", found.join(", "), expected.join(", "))]
    Columns {
        /// As in the header, shortened.
        found: Vec<String>,
        /// As in the sample submission.
        expected: Vec<String>,
    },
    /// A row with more or fewer fields than the header.
    #[error("line {line} has {found} fields, the header has {expected}")]
    Fields {
        /// The line of the file, counted from 1.
        line: u64,
        /// Fields on that line.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// The same id twice.
    #[error("line {line} repeats the id `{id}`; write one row per id")]
    DuplicateId {
        /// The line of the file, counted from 1.
        line: u64,
        /// The repeated id, shortened.
        id: String,
    },
    /// An id that is not in the test set.
    #[error("line {line} has the id `{id}`, which is not in the test set")]
    UnknownId {
        /// The line of the file, counted from 1.
        line: u64,
        /// The unknown id, shortened.
        id: String,
    },
    /// Test rows without a prediction.
    #[error("{count} of {total} test ids have no row, `{example}` among them")]
    MissingIds {
        /// How many are missing.
        count: usize,
        /// How many there are.
        total: usize,
        /// One of the missing ids, shortened.
        example: String,
    },
    /// A cell that does not hold what its column must hold.
    #[error("line {line}, column `{column}`: `{value}` is not {expected}")]
    Value {
        /// The line of the file, counted from 1.
        line: u64,
        /// Name of the cell's column.
        column: String,
        /// Content of the cell, shortened.
        value: String,
        /// What it must be.
        expected: String,
    },
    /// Class probabilities that do not sum to 1.
    #[error("line {line}: the class probabilities sum to {sum}, not to 1")]
    RowSum {
        /// The line of the file, counted from 1.
        line: u64,
        /// The sum of the row's probabilities.
        sum: f64,
    },
}

/// Which test rows a score is computed on.
///
/// Feedback during an episode and the final grade use disjoint rows, so that querying the
/// score cannot be used to fit the rows that count. Membership is a hash of the row's id, or of
/// its query in rankings, keyed by the task's answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// All test rows.
    All,
    /// The given share of rows, in [0, 1].
    Feedback(f64),
    /// All rows but those of `Feedback` with the same share.
    Final(f64),
}

impl Part {
    /// Whether the row (or query) of this name belongs to it.
    pub(crate) fn holds(self, rows: &FeedbackRows, key: &str) -> bool {
        let position = || rows.0.child(key).seed() as f64 / u64::MAX as f64;
        match self {
            Self::All => true,
            Self::Feedback(share) => position() < share,
            Self::Final(share) => position() >= share,
        }
    }
}

/// Selects the rows that are for feedback, by a hash keyed with the task's answers. The selection
/// is the same each time, and cannot be guessed without the answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FeedbackRows(Stream);

impl FeedbackRows {
    /// The selection of the task with this answer file.
    pub(crate) fn from_answers(answers: &[u8]) -> Self {
        Self(Stream::secret(answers).child("feedback rows"))
    }
}

/// The truth of one task's test rows.
#[derive(Debug)]
pub struct Answers {
    id_column: String,
    ids: Vec<String>,
    rows: BTreeMap<String, usize>,
    truth: Values,
    feedback_rows: FeedbackRows,
}

impl Answers {
    /// Number of test rows.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no rows (never true for answers that were read successfully).
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// What decides the part that a row belongs to: its id, or the query that it belongs to,
    /// since a ranking cannot be scored on some of its items.
    fn part_key(&self, row: usize) -> &str {
        match &self.truth {
            Values::Grades { queries, .. } => &queries[row],
            _ => &self.ids[row],
        }
    }
}

/// A valid submission, aligned with the answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Submission {
    predicted: Values,
}

/// Reads `answer.csv`: the id column and the answer columns, in any order.
///
/// # Errors
/// [`SubmissionError`] as for submissions; for a grader these are faults of the task.
pub fn read_answers(
    path: &Utf8Path,
    id_column: &str,
    prediction: &Prediction,
) -> Result<Answers, SubmissionError> {
    parse_answers(&fs_err::read(path)?, id_column, prediction)
}

/// Reads the text of an `answer.csv`: the id column and the answer columns, in any order.
///
/// # Errors
/// [`SubmissionError`] as [`read_answers`].
pub fn parse_answers(
    bytes: &[u8],
    id_column: &str,
    prediction: &Prediction,
) -> Result<Answers, SubmissionError> {
    let columns = prediction.answer_columns();
    let expected: Vec<&str> = std::iter::once(id_column).chain(columns.iter().copied()).collect();
    // Answers are ours, so nothing bounds them; the ids are read first, since they say how many
    // rows there are.
    let open = || CsvTable::open(bytes, &expected, &vec![usize::MAX; expected.len()]);
    let mut table = open()?;
    let (mut ids, mut rows) = (Vec::new(), BTreeMap::new());
    while let Some(row) = table.next()? {
        let id = row.cells[0];
        if rows.insert(id.to_owned(), ids.len()).is_some() {
            return Err(SubmissionError::DuplicateId { line: row.line, id: shorten(id) });
        }
        ids.push(id.to_owned());
    }
    if ids.is_empty() {
        return Err(SubmissionError::Empty);
    }
    let mut truth = Filling::truth(prediction, ids.len());
    let mut table = open()?;
    for place in 0..ids.len() {
        if let Some(row) = table.next()? {
            put(&mut truth, place, &row, &columns)?;
        }
    }
    let (id_column, truth) = (id_column.to_owned(), truth.values());
    Ok(Answers { id_column, ids, rows, truth, feedback_rows: FeedbackRows::from_answers(bytes) })
}

impl Submission {
    /// Parses a submission and aligns it with `answers`. It is refused at the first fault, so
    /// that beside `bytes` there is never more in memory than the answers' rows and one row of
    /// the file.
    ///
    /// # Errors
    /// [`SubmissionError`], the first fault found from top to bottom.
    ///
    /// # Examples
    /// ```rust
    /// use camino::Utf8Path;
    /// use tasks::metrics::Metric;
    /// use tasks::prediction::Prediction;
    /// use tasks::submission::{Part, Submission, read_answers};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = Utf8Path::from_path(folder.path()).expect("UTF-8").join("answer.csv");
    /// std::fs::write(&path, "id,price\na,1\nb,2\n")?;
    /// let prediction = Prediction::Number { column: "price".to_owned() };
    /// let answers = read_answers(&path, "id", &prediction)?;
    ///
    /// // Rows and columns may be in any order.
    /// let submission = Submission::parse(b"price,id\n4,b\n1,a\n", &answers, &prediction)?;
    /// assert_eq!(submission.score(&answers, Metric::Mae, Part::All)?, 1.0);
    ///
    /// let refusal = Submission::parse(b"id,price\na,cheap\n", &answers, &prediction).unwrap_err();
    /// assert_eq!(refusal.to_string(), "line 2, column `price`: `cheap` is not a finite number");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(
        bytes: &[u8],
        answers: &Answers,
        prediction: &Prediction,
    ) -> Result<Self, SubmissionError> {
        let columns = prediction.columns();
        let expected: Vec<&str> =
            std::iter::once(answers.id_column.as_str()).chain(columns.iter().copied()).collect();
        let longest_id = answers.ids.iter().map(String::len).max().unwrap_or(0);
        let mut most = vec![longest_id + ID_SLACK];
        most.extend(cells::most_bytes(prediction));
        let mut table = CsvTable::open(bytes, &expected, &most)?;
        let mut predicted = Filling::predicted(prediction, answers.len());
        let mut seen = vec![false; answers.len()];
        let mut count = 0;
        while let Some(row) = table.next()? {
            let (line, id) = (row.line, row.cells[0]);
            let known = answers.rows.get(id).filter(|_| row.cut != Some(0));
            let Some(place) = known else {
                return Err(SubmissionError::UnknownId { line, id: shorten(id) });
            };
            if std::mem::replace(&mut seen[*place], true) {
                return Err(SubmissionError::DuplicateId { line, id: shorten(id) });
            }
            if let Some(column) = row.cut {
                return Err(SubmissionError::Value {
                    line,
                    column: columns[column - 1].to_owned(),
                    value: shorten(row.cells[column]),
                    expected: format!("a cell of at most {} bytes", most[column]),
                });
            }
            put(&mut predicted, *place, &row, &columns)?;
            count += 1;
        }
        if count == 0 {
            return Err(SubmissionError::Empty);
        }
        if let Some(first) = seen.iter().position(|seen| !seen) {
            return Err(SubmissionError::MissingIds {
                count: answers.len() - count,
                total: answers.len(),
                example: shorten(&answers.ids[first]),
            });
        }
        Ok(Self { predicted: predicted.values() })
    }

    /// The metric on the chosen rows.
    ///
    /// # Errors
    /// [`MetricError`] if the metric is undefined there.
    pub fn score(
        mut self,
        answers: &Answers,
        metric: Metric,
        part: Part,
    ) -> Result<f64, MetricError> {
        if part == Part::All {
            return values::score(metric, &answers.truth, &self.predicted);
        }
        let rows: Vec<usize> = (0..answers.len())
            .filter(|row| part.holds(&answers.feedback_rows, answers.part_key(*row)))
            .collect();
        self.predicted.keep(&rows);
        values::score(metric, &answers.truth.take(&rows), &self.predicted)
    }
}

/// Reads the cells behind the id of a row.
fn put(
    filling: &mut Filling,
    place: usize,
    row: &CsvRow,
    columns: &[&str],
) -> Result<(), SubmissionError> {
    let line = row.line;
    filling.put(place, &row.cells[1..]).map_err(|error| match error {
        CellError::Value { column, expected, .. } => SubmissionError::Value {
            line,
            column: columns[column].to_owned(),
            value: shorten(row.cells[column + 1]),
            expected,
        },
        CellError::RowSum { sum, .. } => SubmissionError::RowSum { line, sum },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answers(prediction: &Prediction, csv: &str) -> Answers {
        let dir = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(dir.path()).unwrap().join("answer.csv");
        fs_err::write(&path, csv).unwrap();
        read_answers(&path, "id", prediction).unwrap()
    }

    fn numbers() -> (Prediction, Answers) {
        let prediction = Prediction::Number { column: "y".to_owned() };
        let answers = answers(&prediction, "id,y\na,1\nb,2\nc,3\n");
        (prediction, answers)
    }

    fn refusal(csv: &[u8]) -> String {
        let (prediction, answers) = numbers();
        Submission::parse(csv, &answers, &prediction).unwrap_err().to_string()
    }

    #[test]
    fn row_and_column_order_do_not_matter() {
        let (prediction, answers) = numbers();
        let parse = |csv: &[u8]| Submission::parse(csv, &answers, &prediction).unwrap();
        let straight = parse(b"id,y\na,1\nb,2.5\nc,3\n");
        assert_eq!(straight, parse(b"\xEF\xBB\xBFy,id\r\n3,c\r\n 1 ,a\r\n2.5,b\r\n"));
        let mae = straight.score(&answers, Metric::Mae, Part::All).unwrap();
        assert!((mae - 0.5 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn refusals_name_the_mistake() {
        let cases: [&[u8]; 14] = [
            b"",
            b"id,y\n",
            b"id,z\na,1\n",
            b"id,y,z\na,1,2\n",
            b"id,y\na,1\nb\n",
            b"id,y\na,1\na,2\n",
            b"id,y\na,1\nq,2\n",
            b"id,y\na,1\n",
            b"id,y\na,nan\nb,1\nc,1\n",
            b"id,y\na,1e999\nb,1\nc,1\n",
            b"id,y\na,\nb,1\nc,1\n",
            b"id,y\na,\x001\nb,1\nc,1\n",
            b"id,y\na,\xff\nb,1\nc,1\n",
            b"id,y\na,a very long text that nobody would want to read in full\nb,1\nc,1\n",
        ];
        let refusals: Vec<String> = cases.into_iter().map(refusal).collect();
        insta::assert_snapshot!(refusals.join("\n"));
    }

    #[test]
    fn labels_may_be_written_as_integral_floats_and_nothing_else() {
        let classes = vec!["0".to_owned(), "1".to_owned(), "2".to_owned()];
        let prediction = Prediction::Label { column: "y".to_owned(), classes };
        let answers = answers(&prediction, "id,y\na,0\nb,2\n");
        let parse = |csv: &[u8]| Submission::parse(csv, &answers, &prediction);
        let valid = parse(b"id,y\na,0.0\nb,2\n").unwrap();
        assert_eq!(valid.score(&answers, Metric::Accuracy, Part::All).unwrap(), 1.0);
        for wrong in ["3", "0.5", "two", "-1", ""] {
            assert!(parse(format!("id,y\na,{wrong}\nb,2\n").as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn class_probabilities_must_sum_to_one() {
        let classes = vec!["cat".to_owned(), "dog".to_owned(), "eel".to_owned()];
        let prediction = Prediction::ClassProbabilities { column: "kind".to_owned(), classes };
        let answers = answers(&prediction, "id,kind\na,dog\nb,eel\n");
        let parse = |csv: &[u8]| Submission::parse(csv, &answers, &prediction);
        assert!(parse(b"id,cat,dog,eel\na,.2,.7,.1\nb,0,0,1\n").is_ok());
        let error = parse(b"id,cat,dog,eel\na,.2,.7,.3\nb,0,0,1\n").unwrap_err();
        assert!(matches!(error, SubmissionError::RowSum { line: 2, .. }));
        assert!(parse(b"id,cat,dog,eel\na,1.2,-.2,0\nb,0,0,1\n").is_err());
    }

    #[test]
    fn feedback_and_final_rows_partition_the_test_set() {
        let ids: Vec<String> = (0..2000).map(|i| format!("row-{i}")).collect();
        let rows = FeedbackRows::from_answers(b"id,y\nrow-0,1\n");
        for share in [0.0, 0.3, 1.0] {
            let feedback = ids.iter().filter(|id| Part::Feedback(share).holds(&rows, id)).count();
            let rest = ids.iter().filter(|id| Part::Final(share).holds(&rows, id)).count();
            assert_eq!(feedback + rest, ids.len());
            assert!((feedback as f64 / 2000.0 - share).abs() < 0.05);
        }
    }

    #[test]
    fn feedback_rows_without_the_answers_cannot_be_guessed() {
        let rows = |answers: &[u8]| -> Vec<bool> {
            let feedback_rows = FeedbackRows::from_answers(answers);
            (0..2000)
                .map(|row| Part::Feedback(0.5).holds(&feedback_rows, &format!("row-{row}")))
                .collect()
        };
        let true_rows = rows(b"id,y\nrow-0,1\nrow-1,2\n");
        assert_eq!(true_rows, rows(b"id,y\nrow-0,1\nrow-1,2\n"));
        // One answer wrong, and no more rows are guessed than by chance.
        let guessed = rows(b"id,y\nrow-0,1\nrow-1,3\n");
        let same = true_rows.iter().zip(&guessed).filter(|(left, right)| left == right).count();
        assert!((900..1100).contains(&same), "{same}");
    }

    #[test]
    fn feedback_keeps_queries_whole() {
        let prediction = Prediction::Relevance { column: "y".to_owned(), query: "q".to_owned() };
        let rows = (0..200).map(|i| format!("{i},{},query-{}", i % 3, i / 10));
        let lines: Vec<String> = std::iter::once("id,y,q".to_owned()).chain(rows).collect();
        let answers = answers(&prediction, &lines.join("\n"));
        let part = Part::Feedback(0.5);
        let held: Vec<bool> =
            (0..200).map(|row| part.holds(&answers.feedback_rows, answers.part_key(row))).collect();
        assert!(held.chunks(10).all(|query| query.iter().all(|row| *row == query[0])));
        assert!(held.contains(&true) && held.contains(&false));
    }

    #[test]
    fn an_empty_cell_may_be_an_answer() {
        let prediction = Prediction::Mask { column: "m".to_owned(), width: 4, height: 4 };
        let answers = answers(&prediction, "id,m\na,3 4\nb,16 1\nc,\n");
        let parse = |csv: &[u8]| Submission::parse(csv, &answers, &prediction);
        let submission = parse(b"m,id\n,c\n\"\",b\n1 4,a\n").unwrap();
        assert_eq!(submission.score(&answers, Metric::Dice, Part::All).unwrap(), 0.5);
        let error = parse(b"id,m\na,3 4\nb,17 1\nc,\n").unwrap_err().to_string();
        insta::assert_snapshot!(
            error,
            @"line 3, column `m`: `17 1` is not a run-length mask: run 1 leaves the 4 x 4 = 16 pixels"
        );
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (prediction, answers) = numbers();
            let _ = Submission::parse(&bytes, &answers, &prediction);
        }

        #[test]
        fn arbitrary_tables_never_panic(text in "(id|y|,|\n|\"|a|b|c|1|e9|-|\\.){0,60}") {
            let (prediction, answers) = numbers();
            let _ = Submission::parse(text.as_bytes(), &answers, &prediction);
        }
    }
}
