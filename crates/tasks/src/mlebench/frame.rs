//! Tables as pandas 2 reads them with round-trip floats and default options otherwise: MLE-bench
//! hands these to its graders, so that what is refused and what is scored follows from them.
//!
//! `bytes -> CsvTokenizer -> words of a column -> PandasColumn`. A file is read in batches of lines,
//! each with types of its own; `PandasColumn::concatenate` joins them.

use super::column::PandasColumn;
use super::infer::infer;
use super::tokens::CsvTokenizer;
use std::collections::BTreeMap;

/// pandas reads the largest power of two of lines at a time that is below half of this, divided
/// by the number of columns.
const BATCH_CELLS: usize = 1 << 20;

/// How large a file may be. The largest competition's answers have 6 million rows of two columns
/// in 130 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLimits {
    /// Bytes of the file, and those that pandas goes back over, which can be far more.
    pub bytes: usize,
    /// The largest number of columns.
    pub columns: usize,
    /// Bytes of the header.
    pub header: usize,
    /// The largest number of rows below the header.
    pub rows: usize,
    /// Rows times columns, filled in ones too.
    pub cells: usize,
}

impl Default for FrameLimits {
    fn default() -> Self {
        Self { bytes: 1 << 30, columns: 1 << 14, header: 1 << 24, rows: 1 << 26, cells: 1 << 26 }
    }
}

impl FrameLimits {
    /// For submissions, given the answers. No grader scores a table with more or fewer rows than
    /// the answers have. So these leave ample room for mistakes that deserve the grader's own
    /// words and for columns that it ignores, and none for a file that is large for its own sake:
    ///
    /// - bytes: 4 MiB, four times the texts of the answers, and 128 for each of their cells;
    /// - columns: 1024 more than theirs, and a header of 256 KiB and four times the bytes of their
    ///   names;
    /// - rows: twice theirs, and 1024;
    /// - cells: four times theirs, and a quarter of a million.
    pub fn for_submissions(answers: &PandasFrame) -> Self {
        let texts: usize = answers.columns.iter().map(PandasColumn::text_bytes).sum();
        let (rows, columns) = (answers.rows, answers.columns.len());
        let cells = rows.saturating_mul(columns);
        let most = Self::default();
        Self {
            bytes: (4 << 20) + texts.saturating_mul(4).saturating_add(cells.saturating_mul(128)),
            columns: columns + (1 << 10),
            header: (256 << 10) + 4 * answers.names.iter().map(String::len).sum::<usize>(),
            rows: rows.saturating_mul(2).saturating_add(1 << 10),
            cells: cells.saturating_mul(4).saturating_add(1 << 18),
        }
        .within(most)
    }

    fn within(self, most: Self) -> Self {
        Self {
            bytes: self.bytes.min(most.bytes),
            columns: self.columns.min(most.columns),
            header: self.header.min(most.header),
            rows: self.rows.min(most.rows),
            cells: self.cells.min(most.cells),
        }
    }
}

/// Why a file is no table. All but the last make the original stop without a report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A byte sequence that is not UTF-8.
    #[error("byte {offset} is not valid UTF-8; write the file in UTF-8")]
    Encoding {
        /// From the start of the file.
        offset: usize,
    },
    /// A row longer than those before.
    #[error(
        "line {line} has {found} fields where {expected} are expected; quote texts with commas"
    )]
    TooManyFields {
        /// 1-based, as far as line feeds outside quotes go.
        line: usize,
        /// Fields on that line.
        found: usize,
        /// Fields of the line before.
        expected: usize,
    },
    /// A quote that is never closed.
    #[error("a quote that opens in line {line} is never closed")]
    OpenQuote {
        /// 1-based, as far as line feeds outside quotes go.
        line: usize,
    },
    /// What pandas reads over and over until its buffers are full.
    #[error(
        "a line that begins with a blank follows one that ends with a lone carriage return; end \
         lines with line feeds"
    )]
    Runaway,
    /// A file beyond [`FrameLimits`], which are ours.
    #[error("it has more than {limit} {what}, the most that is read")]
    TooLarge {
        /// Of what there is too much.
        what: &'static str,
        /// How much is fine.
        limit: usize,
    },
}

/// A table: named columns of one length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PandasFrame {
    names: Vec<String>,
    columns: Vec<PandasColumn>,
    rows: usize,
}

impl PandasFrame {
    /// Reads a file, within the default [`FrameLimits`]. Where there is no header at all, neither
    /// are there columns.
    ///
    /// # Errors
    /// [`FrameError`], the first one met.
    pub fn read(bytes: &[u8]) -> Result<Self, FrameError> {
        Self::read_within(bytes, FrameLimits::default())
    }

    /// The same within other limits.
    ///
    /// # Errors
    /// [`FrameError`], the first one met.
    pub fn read_within(bytes: &[u8], limits: FrameLimits) -> Result<Self, FrameError> {
        let within = |what, found: usize, limit| {
            if found > limit { Err(FrameError::TooLarge { what, limit }) } else { Ok(()) }
        };
        within("bytes", bytes.len(), limits.bytes)?;
        let text = str::from_utf8(bytes)
            .map_err(|error| FrameError::Encoding { offset: error.valid_up_to() })?;
        let mut tokens = CsvTokenizer::new(text, limits);
        // The header, and the first row, which says how many columns there are.
        tokens.read(2)?;
        if tokens.line_count() == 0 {
            return Ok(Self::default());
        }
        let header = tokens.field_count(0);
        within("columns", header, limits.columns)?;
        let header_bytes: usize = (0..header).map(|column| tokens.word(0, column).len()).sum();
        within("bytes in its header", header_bytes, limits.header)?;
        let names = names((0..header).map(|column| tokens.word(0, column)));
        if tokens.line_count() == 1 {
            let columns = names.iter().map(|_| PandasColumn::Objects(Vec::new())).collect();
            return Ok(Self { names, columns, rows: 0 });
        }
        let width = tokens.field_count(1);
        within("columns", width, limits.columns)?;
        // Surplus fields come first: they are an index, which no grader looks at.
        let leading = width - header;

        let batch = batch_lines(width);
        let mut parts: Vec<Vec<PandasColumn>> = vec![Vec::new(); header];
        let mut rows = 0;
        loop {
            // Line 0 is the header, later the last line of the batch before.
            tokens.read((batch + 1).saturating_sub(tokens.line_count()))?;
            let count = (tokens.line_count() - 1).min(batch);
            if count == 0 {
                break;
            }
            rows += count;
            within("rows", rows, limits.rows)?;
            within("cells", rows.saturating_mul(width), limits.cells)?;
            for (column, parts) in parts.iter_mut().enumerate() {
                let words: Vec<&[u8]> =
                    (1..=count).map(|line| tokens.word(line, leading + column)).collect();
                parts.push(infer(&words));
            }
            tokens.forget(count);
        }
        let columns = parts.into_iter().map(PandasColumn::concatenate).collect();
        Ok(Self { names, columns, rows })
    }

    /// A table of the columns given.
    ///
    /// # Panics
    /// If they differ in length.
    pub fn new<const N: usize>(columns: [(&str, PandasColumn); N]) -> Self {
        let rows = columns.first().map_or(0, |(_, column)| column.len());
        assert!(columns.iter().all(|(_, column)| column.len() == rows), "one length for all");
        let (names, columns) =
            columns.into_iter().map(|(name, column)| (name.to_owned(), column)).unzip();
        Self { names, columns, rows }
    }

    /// Column names, from the left.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Columns, from the left.
    pub fn columns(&self) -> &[PandasColumn] {
        &self.columns
    }

    /// Number of rows below the header.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&PandasColumn> {
        let position = self.names.iter().position(|other| other == name)?;
        Some(&self.columns[position])
    }
}

fn batch_lines(width: usize) -> usize {
    let most = BATCH_CELLS / width.max(1);
    let mut lines = 1;
    while lines * 2 < most {
        lines *= 2;
    }
    lines
}

/// The names that a header gives: empty ones are numbered, repeated ones get a suffix, and the
/// numbered ones only after all others have theirs.
fn names<'a>(words: impl Iterator<Item = &'a [u8]>) -> Vec<String> {
    let mut names: Vec<String> =
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    let (mut given, mut empty) = (Vec::new(), Vec::new());
    for (index, name) in names.iter_mut().enumerate() {
        if name.is_empty() {
            *name = format!("Unnamed: {index}");
            empty.push(index);
        } else {
            given.push(index);
        }
    }
    let present = |names: &[String]| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for name in names {
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts
    };
    // How often each name stands in the header as it is at the moment.
    let mut standing = present(&names);
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    for index in given.into_iter().chain(empty) {
        let original = names[index].clone();
        let mut name = original.clone();
        let mut count = used.get(&name).copied().unwrap_or(0);
        while count > 0 {
            used.insert(original.clone(), count + 1);
            name = format!("{original}.{count}");
            if standing.get(&name).is_some_and(|count| *count > 0) {
                count += 1;
            } else {
                count = used.get(&name).copied().unwrap_or(0);
            }
        }
        if let Some(count) = standing.get_mut(&original) {
            *count -= 1;
        }
        *standing.entry(name.clone()).or_default() += 1;
        used.insert(name.clone(), count + 1);
        names[index] = name;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mlebench::column::PandasCell;

    fn read(text: &str) -> PandasFrame {
        PandasFrame::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn surplus_fields_of_the_first_row_become_the_index() {
        let frame = read("a,b\n1,2,3\n4,5\n");
        assert_eq!(frame.column("a"), Some(&PandasColumn::Integers(vec![2, 5])));
        let b = frame.column("b").unwrap();
        assert_eq!((b.cell(0), b.cell(1)), (PandasCell::Float(3.0), PandasCell::Missing));
    }

    #[test]
    fn no_header_means_no_columns_and_no_rows_no_types() {
        assert_eq!(read("\n \n\r"), PandasFrame::default());
        assert_eq!(
            read("\u{feff}a\n"),
            PandasFrame::new([("a", PandasColumn::Objects(Vec::new()))])
        );
    }

    #[test]
    fn repeated_names_get_suffixes() {
        let names = read("a,a,,Unnamed: 2,a.1\n").names().to_vec();
        assert_eq!(names, ["a", "a.2", "Unnamed: 2.1", "Unnamed: 2", "a.1"]);
    }

    #[test]
    fn what_the_original_cannot_read_is_an_error_of_its_own() {
        let error = |text: &[u8]| PandasFrame::read(text).unwrap_err();
        assert_eq!(error(b"a\n\xff"), FrameError::Encoding { offset: 2 });
        let long = FrameError::TooManyFields { line: 3, found: 3, expected: 2 };
        assert_eq!(error(b"x,y\n1,2\n3,4,5\n"), long);
        assert_eq!(error(b"a\n\"b"), FrameError::OpenQuote { line: 2 });
        assert_eq!(error(b"a\n1\n2\r 3\n4\n"), FrameError::Runaway);
    }

    #[test]
    fn lines_read_again_count_towards_the_limit() {
        let text = format!("{}a\r x", "\r".repeat(400));
        let limits = FrameLimits { bytes: 1000, ..FrameLimits::default() };
        let error = PandasFrame::read_within(text.as_bytes(), limits).unwrap_err();
        assert_eq!(error, FrameError::TooLarge { what: "bytes to go back", limit: 1000 });
        assert!(PandasFrame::read_within(b"a\n 1\n  2\n", limits).is_ok());
    }

    #[test]
    fn limits_hold_on_both_sides() {
        let limits = FrameLimits { bytes: 12, columns: 2, header: 2, rows: 9, cells: 4 };
        assert!(PandasFrame::read_within(b"a,b\n1,2\n3,4\n", limits).is_ok());
        for text in ["a,b\n1,2\n3,4\n ", "a,b,c\n", "a,bc\n", "a\n1,2,3\n", "a,b\n1\n2\n3\n"] {
            let error = PandasFrame::read_within(text.as_bytes(), limits).unwrap_err();
            assert!(matches!(error, FrameError::TooLarge { .. }), "{text}");
        }
        let limits = FrameLimits { rows: 1, ..limits };
        let error = PandasFrame::read_within(b"a\n1\n2\n", limits).unwrap_err();
        assert_eq!(error, FrameError::TooLarge { what: "rows", limit: 1 });
        // Fields are counted before the line ends.
        for text in ["a,b,c,\"", "a\n1,2,3,\""] {
            let error = PandasFrame::read_within(text.as_bytes(), limits).unwrap_err();
            assert_eq!(error, FrameError::TooLarge { what: "columns", limit: 2 }, "{text}");
        }
    }

    #[test]
    fn limits_of_submissions_follow_from_the_answers() {
        let answers = read("id,y\nab,1\ncde,0.5\n");
        let limits = FrameLimits::for_submissions(&answers);
        let bytes = (4 << 20) + 4 * 5 + 4 * 128;
        let (header, cells) = ((256 << 10) + 4 * 3, 16 + (1 << 18));
        assert_eq!(limits, FrameLimits { bytes, columns: 1026, header, rows: 1028, cells });
    }
}
