//! The columns of a CSV file, from its first rows.

use super::words::{grouped, number, one_line, value};
use camino::Utf8Path;
use fs_err as fs;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Read as _;

/// Rows that are looked at.
const ROWS: usize = 1000;
/// Bytes that these may take.
const BYTES: u64 = 16 << 20;
/// Columns that are described; of the rest, up to this many are named.
const COLUMNS: usize = 40;
/// Characters of a column's name that are shown.
const NAME: usize = 60;
/// Values that are shown of a column.
const VALUES: usize = 3;
/// What stands for a value that is missing, as pandas reads it.
const GAPS: [&str; 10] = ["", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>"];

/// The columns of a table.
#[derive(Debug)]
pub(super) struct TablePreview {
    columns: Vec<PreviewColumn>,
    rows: usize,
}

/// What the first rows say of a column.
#[derive(Debug)]
struct PreviewColumn {
    name: String,
    kind: ColumnKind,
    gaps: usize,
    values: Vec<String>,
}

#[derive(Debug)]
enum ColumnKind {
    Empty,
    Whole { low: f64, high: f64 },
    Number { low: f64, high: f64 },
    Date { low: String, high: String },
    Text { shortest: usize, longest: usize, distinct: usize },
}

impl TablePreview {
    /// `None` for a file that cannot be read as a table.
    pub(super) fn read(path: &Utf8Path) -> Option<Self> {
        let file = fs::File::open(path).ok()?;
        let delimiter = if path.extension() == Some("tsv") { b'\t' } else { b',' };
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(file.take(BYTES));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let names: Vec<String> = reader.byte_headers().ok()?.iter().map(text).collect();
        let mut cells: Vec<Vec<String>> = vec![Vec::new(); names.len()];
        let mut rows = 0;
        for record in reader.byte_records().take(ROWS) {
            let Ok(record) = record else { break };
            rows += 1;
            for (column, cells) in cells.iter_mut().enumerate() {
                cells.push(text(record.get(column).unwrap_or_default()));
            }
        }
        // Where the bytes ran out, the last row may be torn.
        if reader.position().byte() >= BYTES && rows > 1 {
            rows -= 1;
            for cells in &mut cells {
                cells.truncate(rows);
            }
        }
        let columns = names.into_iter().zip(&cells);
        let columns = columns.map(|(name, cells)| PreviewColumn::new(name, cells)).collect();
        Some(Self { columns, rows })
    }

    /// A line per column.
    pub(super) fn full(&self) -> String {
        let mut text = format!(
            "{} columns; of the first {} rows:\n",
            self.columns.len(),
            grouped(self.rows as u64)
        );
        for column in self.columns.iter().take(COLUMNS) {
            let _ = writeln!(text, "- {}", column.line(self.rows));
        }
        if self.columns.len() > COLUMNS {
            let _ = writeln!(text, "- further columns: {}", names(&self.columns[COLUMNS..]));
        }
        text
    }

    /// The names of its columns.
    pub(super) fn brief(&self) -> String {
        format!("{} columns: {}\n", self.columns.len(), names(&self.columns))
    }
}

/// The first names, and how many are left out.
fn names(columns: &[PreviewColumn]) -> String {
    let shown: Vec<String> =
        columns.iter().take(COLUMNS).map(|column| one_line(&column.name, NAME)).collect();
    let rest = columns.len().saturating_sub(COLUMNS);
    let rest = if rest > 0 { format!(", … {rest} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

impl PreviewColumn {
    fn new(name: String, cells: &[String]) -> Self {
        let known: Vec<&str> =
            cells.iter().map(|cell| cell.trim()).filter(|cell| !GAPS.contains(cell)).collect();
        let mut values: Vec<String> = Vec::new();
        for cell in &known {
            let shown = value(cell);
            if !values.contains(&shown) {
                values.push(shown);
            }
            if values.len() == VALUES {
                break;
            }
        }
        Self { name, gaps: cells.len() - known.len(), kind: ColumnKind::of(&known), values }
    }

    fn line(&self, rows: usize) -> String {
        let name = one_line(&self.name, NAME);
        let kind = match &self.kind {
            ColumnKind::Empty => return format!("{name}: empty"),
            ColumnKind::Whole { low, high } => {
                format!("whole numbers {} to {}", number(*low), number(*high))
            }
            ColumnKind::Number { low, high } => {
                format!("numbers {} to {}", number(*low), number(*high))
            }
            ColumnKind::Date { low, high } => format!("dates {} to {}", value(low), value(high)),
            ColumnKind::Text { shortest, longest, distinct } => {
                format!("texts of {shortest} to {longest} characters, {distinct} distinct")
            }
        };
        let gaps = match self.gaps {
            0 => String::new(),
            gaps => format!(", {:.1} % missing", 100.0 * gaps as f64 / rows.max(1) as f64),
        };
        format!("{name}: {kind}{gaps}; such as {}", self.values.join(" | "))
    }
}

impl ColumnKind {
    fn of(known: &[&str]) -> Self {
        if known.is_empty() {
            return Self::Empty;
        }
        let numbers: Option<Vec<f64>> = known
            .iter()
            .map(|cell| cell.parse::<f64>().ok().filter(|value| value.is_finite()))
            .collect();
        if let Some(numbers) = numbers {
            let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let is_whole = known.iter().all(|cell| cell.parse::<i64>().is_ok());
            return if is_whole { Self::Whole { low, high } } else { Self::Number { low, high } };
        }
        let ends = || (known.iter().min().copied(), known.iter().max().copied());
        if let (true, (Some(low), Some(high))) = (known.iter().all(|cell| is_date(cell)), ends()) {
            return Self::Date { low: low.to_owned(), high: high.to_owned() };
        }
        let lengths = || known.iter().map(|cell| cell.chars().count());
        Self::Text {
            shortest: lengths().min().unwrap_or_default(),
            longest: lengths().max().unwrap_or_default(),
            distinct: known.iter().collect::<BTreeSet<_>>().len(),
        }
    }
}

/// Whether a text starts like `2026-01-02`, so that dates are in the order of their letters.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let fits = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    bytes.len() >= 10 && bytes[..10].iter().enumerate().all(fits)
}
