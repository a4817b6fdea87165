//! The form that a submission to a bundle must have, taken from its sample submission. Submissions
//! are checked here, so that an evaluator only sees tables of the right form.

use crate::cells::NUMBER;
use crate::submission::{FeedbackRows, Part, SubmissionError};
use crate::table::{CsvTable, shorten};
use std::collections::BTreeMap;

/// The form of a submission.
#[derive(Debug)]
pub struct SampleSubmission {
    columns: Vec<String>,
    /// The ids, which are in the first column.
    ids: BTreeMap<String, Id>,
    rows: usize,
    /// Columns that hold numbers, in the sample and in the answers if these have them.
    numbers: Vec<bool>,
    feedback_rows: FeedbackRows,
}

#[derive(Debug)]
struct Id {
    /// Its place among the ids.
    place: usize,
    /// How often it occurs.
    often: usize,
}

impl SampleSubmission {
    /// The form of the submissions to a task with this sample submission and these answers.
    ///
    /// # Errors
    /// [`SubmissionError`] if either is not a table.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::sample::SampleSubmission;
    ///
    /// let sample = SampleSubmission::read(b"id,y\na,0\nb,0\n", b"id,y\na,1.5\nb,2\n")?;
    /// sample.check(b"y,id\n3,b\n1e-3,a\n")?;
    /// assert!(sample.check(b"id,y\na,1\n").is_err(), "the row of `b` is missing");
    /// assert!(sample.check(b"id,y\na,1\nb,high\n").is_err(), "`high` is not a number");
    /// # Ok::<(), tasks::submission::SubmissionError>(())
    /// ```
    pub fn read(sample: &[u8], answers: &[u8]) -> Result<Self, SubmissionError> {
        let columns = header(sample)?;
        let mut ids = BTreeMap::new();
        let mut rows = 0;
        let in_sample = numbers(sample, &columns, |id| {
            let place = ids.len();
            ids.entry(id.to_owned()).or_insert(Id { place, often: 0 }).often += 1;
            rows += 1;
        })?;
        let answer_columns = header(answers)?;
        let in_answers = numbers(answers, &answer_columns, |_| ())?;
        let hold_numbers = columns.iter().enumerate().map(|(at, name)| {
            let same = answer_columns.iter().position(|other| other == name);
            // An id is compared as it is written.
            at > 0 && in_sample[at] && same.is_none_or(|same| in_answers[same])
        });
        let numbers = hold_numbers.collect();
        let feedback_rows = FeedbackRows::from_answers(answers);
        Ok(Self { columns, ids, rows, numbers, feedback_rows })
    }

    /// Checks that a submission has the sample's columns and ids, and numbers where the sample has
    /// numbers. Texts may be as long as the file.
    ///
    /// # Errors
    /// [`SubmissionError`], worded for the agent.
    pub fn check(&self, csv: &[u8]) -> Result<(), SubmissionError> {
        let names: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let most: Vec<usize> =
            self.numbers.iter().map(|number| if *number { NUMBER } else { usize::MAX }).collect();
        let mut table = CsvTable::open(csv, &names, &most)?;
        let mut seen = vec![0; self.ids.len()];
        let mut rows = 0;
        while let Some(row) = table.next()? {
            let (line, id) = (row.line, row.cells[0]);
            let Some(Id { place, often }) = self.ids.get(id) else {
                return Err(SubmissionError::UnknownId { line, id: shorten(id) });
            };
            seen[*place] += 1;
            if seen[*place] > *often {
                return Err(SubmissionError::DuplicateId { line, id: shorten(id) });
            }
            for (at, cell) in row.cells.iter().enumerate() {
                if self.numbers[at] && (row.cut == Some(at) || !is_number(cell)) {
                    let (column, value) = (self.columns[at].clone(), shorten(cell));
                    let expected = "a finite number".to_owned();
                    return Err(SubmissionError::Value { line, column, value, expected });
                }
            }
            rows += 1;
        }
        if rows == 0 {
            return Err(SubmissionError::Empty);
        }
        match self.ids.iter().find(|(_, id)| seen[id.place] != id.often) {
            None => Ok(()),
            Some((id, _)) => Err(SubmissionError::MissingIds {
                count: self.rows - rows,
                total: self.rows,
                example: shorten(id),
            }),
        }
    }

    /// The rows of `csv` that belong to `part`: a table of the answers or of a submission. A row
    /// is identified by its id, or by its number in a table without the column of ids.
    ///
    /// # Errors
    /// [`SubmissionError`] if `csv` is not a table.
    pub fn take(&self, csv: &[u8], part: Part) -> Result<Vec<u8>, SubmissionError> {
        if part == Part::All {
            return Ok(csv.to_vec());
        }
        let csv = csv.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(csv);
        let broken = |error: csv::Error| SubmissionError::Csv(error.to_string());
        let mut reader = csv::ReaderBuilder::new().from_reader(csv);
        let header = reader.headers().map_err(broken)?.clone();
        let key = header.iter().position(|name| name.trim() == self.columns[0]);
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&header).map_err(broken)?;
        for (number, row) in reader.records().enumerate() {
            let row = row.map_err(broken)?;
            let name = match key.and_then(|at| row.get(at)) {
                Some(id) => id.trim().to_owned(),
                None => number.to_string(),
            };
            if part.holds(&self.feedback_rows, &name) {
                writer.write_record(&row).map_err(broken)?;
            }
        }
        writer.into_inner().map_err(|error| SubmissionError::Csv(error.to_string()))
    }
}

fn header(csv: &[u8]) -> Result<Vec<String>, SubmissionError> {
    let csv = csv.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(csv);
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(csv);
    let header = reader.headers().map_err(|error| SubmissionError::Csv(error.to_string()))?;
    if header.is_empty() {
        return Err(SubmissionError::Empty);
    }
    Ok(header.iter().map(str::to_owned).collect())
}

/// Which columns of one of the bundle's own tables hold numbers only. Calls `on_id` with every id.
fn numbers(
    csv: &[u8],
    columns: &[String],
    mut on_id: impl FnMut(&str),
) -> Result<Vec<bool>, SubmissionError> {
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut table = CsvTable::open(csv, &names, &vec![usize::MAX; names.len()])?;
    let mut numbers = vec![true; names.len()];
    let mut rows = 0;
    while let Some(row) = table.next()? {
        on_id(row.cells[0]);
        for (number, cell) in numbers.iter_mut().zip(&row.cells) {
            *number &= is_number(cell);
        }
        rows += 1;
    }
    if rows == 0 { Err(SubmissionError::Empty) } else { Ok(numbers) }
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERS: &[u8] = b"id,y,kind\na,1,x\nb,2,3\nb,3,4\n";

    fn sample() -> SampleSubmission {
        SampleSubmission::read(b"id,y,kind\na,0,1\nb,0,1\nb,0,1\n", ANSWERS).unwrap()
    }

    fn refusal(csv: &str) -> String {
        sample().check(csv.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn the_form_of_the_sample_is_asked_for() {
        sample().check(b"kind,id,y\nanything,b,1e3\n,b,2\nz,a,3\n").unwrap();
        assert!(refusal("id,y\na,1\n").contains("expected exactly [id, y, kind]"));
        assert!(refusal("id,y,kind\na,nan,1\nb,1,1\nb,1,1\n").contains("not a finite number"));
        assert!(refusal("id,y,kind\na,1,1\na,1,1\nb,1,1\n").contains("repeats the id"));
        assert!(refusal("id,y,kind\nc,1,1\n").contains("not in the test set"));
        assert!(refusal("id,y,kind\na,1,1\nb,1,1\n").contains("1 of 3 test ids"));
        assert!(refusal("").contains("empty"));
        assert!(refusal("id,y,kind\n").contains("empty"));
    }

    #[test]
    fn texts_may_be_long_and_numbers_may_not() {
        let long = |digits: usize, letters: usize| {
            let (number, text) = (format!("{:0<digits$}", "0.5"), "x".repeat(letters));
            format!("id,y,kind\na,{number},{text}\nb,1,2\nb,1,2\n")
        };
        sample().check(long(2000, 100_000).as_bytes()).unwrap();
        let said = refusal(&long(3000, 1));
        assert!(said.starts_with("line 2, column `y`: `0.500000") && said.len() < 100, "{said}");
        let many = ",".repeat(100_000);
        let said = refusal(&format!("id,y,kind\na,1{many}\n"));
        assert_eq!(said, "line 2 has 100002 fields, the header has 3");
    }

    #[test]
    fn feedback_and_final_rows_are_the_same_rows_in_both_tables() {
        let ids: Vec<String> = (0..200).map(|id| format!("r{id}")).collect();
        let table = |column: &str, rows: &mut dyn Iterator<Item = &String>| {
            let rows: String = rows.flat_map(|id| [id.as_str(), ",1\n"]).collect();
            format!("id,{column}\n{rows}")
        };
        let answers = table("y", &mut ids.iter());
        let submitted = table("y", &mut ids.iter().rev());
        let sample = SampleSubmission::read(answers.as_bytes(), answers.as_bytes()).unwrap();
        let names = |csv: &str, part| {
            let kept = String::from_utf8(sample.take(csv.as_bytes(), part).unwrap()).unwrap();
            let mut names: Vec<String> = kept.lines().skip(1).map(str::to_owned).collect();
            names.sort();
            names
        };
        let feedback = names(&answers, Part::Feedback(0.3));
        let last = names(&answers, Part::Final(0.3));
        assert_eq!(feedback, names(&submitted, Part::Feedback(0.3)));
        assert_eq!(last, names(&submitted, Part::Final(0.3)));
        assert_eq!(feedback.len() + last.len(), 200);
        assert!((30..90).contains(&feedback.len()));
        assert!(feedback.iter().all(|name| !last.contains(name)));
    }
}
