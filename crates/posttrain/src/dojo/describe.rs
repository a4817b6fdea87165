//! What is in a pool of raw data: files, rows, columns, lengths and samples.
//!
//! `pool/SOURCE/FILE -> DatasetInfo`. Agents and planners choose sources by it.

use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tasks::files::files_below;

/// Rows of a file that are shown.
const SAMPLES: usize = 3;
/// Characters of a shown row, at most.
const SAMPLE: usize = 3000;

/// A pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DatasetInfo {
    /// Its sources by name, in order.
    pub sources: Vec<SourceInfo>,
}

/// A folder of a pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceInfo {
    /// Name of the folder.
    pub name: String,
    /// Its `README.md`; empty if there is none.
    pub readme: String,
    /// Its other files by path, in order.
    pub files: Vec<FileInfo>,
}

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FileInfo {
    /// Its path below the source.
    pub path: Utf8PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// What is in it.
    pub content: Content,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// Rows with columns: JSON (a list of objects), JSON lines, or CSV.
    Table {
        /// Number of rows.
        rows: usize,
        /// The columns by name, in order.
        columns: Vec<ColumnInfo>,
        /// The first rows as JSON, cut at 3,000 characters.
        samples: Vec<String>,
    },
    /// A file of another kind, which is not read.
    Other,
}

/// A column of a file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Rows in which it is missing, null, or an empty text, list or object.
    pub empty: usize,
    /// The lengths of the other rows, in tokens of a vocabulary of words, single digits and single
    /// signs; `None` if all are empty.
    pub tokens: Option<Spread>,
}

/// How lengths are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The least.
    pub min: usize,
    /// The length that half of the rows do not exceed.
    pub p50: usize,
    /// The length that 99 % of the rows do not exceed.
    pub p99: usize,
    /// The greatest.
    pub max: usize,
}

/// Why a pool cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum DescribeError {
    /// A file could not be read.
    #[error("failed to read the raw data")]
    Io(#[from] std::io::Error),
    /// A file is not what its name says.
    #[error("`{path}` cannot be read as its name says, at row {row}: {reason}")]
    Row {
        /// The file.
        path: Utf8PathBuf,
        /// Number of the row, from 1.
        row: usize,
        /// What is wrong with it.
        reason: String,
    },
}

/// Describes the folder `pool`, whose folders are sources. What is returned depends on the files
/// alone.
///
/// # Errors
/// [`DescribeError`].
pub fn describe(pool: &Utf8Path) -> Result<DatasetInfo, DescribeError> {
    let mut sources = Vec::new();
    for folder in entries(pool)? {
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap_or_default().to_owned();
        let mut source = SourceInfo { name, readme: String::new(), files: Vec::new() };
        for path in files_below(&folder)? {
            let relative = path.strip_prefix(&folder).unwrap_or(&path).to_owned();
            if relative == "README.md" {
                source.readme = fs::read_to_string(&path)?;
                continue;
            }
            let bytes = fs::metadata(&path)?.len();
            source.files.push(FileInfo { path: relative, bytes, content: content(&path)? });
        }
        sources.push(source);
    }
    Ok(DatasetInfo { sources })
}

/// What is in a folder, in order.
fn entries(folder: &Utf8Path) -> Result<Vec<Utf8PathBuf>, std::io::Error> {
    let mut paths = Vec::new();
    for entry in folder.read_dir_utf8()? {
        paths.push(entry?.into_path());
    }
    paths.sort();
    Ok(paths)
}

fn content(path: &Utf8Path) -> Result<Content, DescribeError> {
    let wrong =
        |row: usize, reason: String| DescribeError::Row { path: path.to_owned(), row, reason };
    let rows: Vec<Map<String, Value>> = match path.extension() {
        Some("jsonl") => {
            let text = fs::read_to_string(path)?;
            let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
            let parse = |(number, line)| {
                serde_json::from_str(line)
                    .map_err(|error: serde_json::Error| wrong(number + 1, error.to_string()))
            };
            lines.map(parse).collect::<Result<_, _>>()?
        }
        Some("json") => serde_json::from_str(&fs::read_to_string(path)?)
            .map_err(|error| wrong(1, error.to_string()))?,
        Some("csv") => {
            let text = fs::read_to_string(path)?;
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let names = reader.headers().map_err(|error| wrong(1, error.to_string()))?.clone();
            let row = |(number, record): (usize, Result<csv::StringRecord, csv::Error>)| {
                let record = record.map_err(|error| wrong(number + 1, error.to_string()))?;
                let cells = names.iter().zip(record.iter());
                Ok(cells.map(|(name, cell)| (name.to_owned(), Value::from(cell))).collect())
            };
            reader.records().enumerate().map(row).collect::<Result<_, DescribeError>>()?
        }
        _ => return Ok(Content::Other),
    };
    Ok(table(rows))
}

fn table(rows: Vec<Map<String, Value>>) -> Content {
    let count = rows.len();
    let mut lengths: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in &rows {
        for (name, value) in row {
            let lengths = lengths.entry(name.clone()).or_default();
            let is_empty = match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(all) => all.is_empty(),
                Value::Object(all) => all.is_empty(),
                Value::Bool(_) | Value::Number(_) => false,
            };
            if !is_empty {
                lengths.push(tokens(value.as_str().unwrap_or(&value.to_string())));
            }
        }
    }
    let column = |(name, lengths): (String, Vec<usize>)| ColumnInfo {
        name,
        empty: count - lengths.len(),
        tokens: spread(lengths),
    };
    let columns = lengths.into_iter().map(column).collect();
    let sample = |row: Map<String, Value>| -> String {
        tasks::json::sorted(Value::Object(row)).to_string().chars().take(SAMPLE).collect()
    };
    let samples = rows.into_iter().take(SAMPLES).map(sample).collect();
    Content::Table { rows: count, columns, samples }
}

/// Nearest ranks.
fn spread(mut lengths: Vec<usize>) -> Option<Spread> {
    lengths.sort_unstable();
    let rank = |percent: usize| lengths.get((lengths.len() * percent).div_ceil(100).max(1) - 1);
    Some(Spread { min: *lengths.first()?, p50: *rank(50)?, p99: *rank(99)?, max: *lengths.last()? })
}

/// The tokens of a text in a vocabulary of words, single digits and single signs.
fn tokens(text: &str) -> usize {
    let (mut count, mut in_word) = (0, false);
    for letter in text.chars() {
        let is_letter = letter.is_alphabetic();
        count += usize::from(!(letter.is_whitespace() || is_letter && in_word));
        in_word = is_letter;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_spread_by_nearest_rank() {
        assert_eq!(spread(Vec::new()), None);
        assert_eq!(spread(vec![7]), Some(Spread { min: 7, p50: 7, p99: 7, max: 7 }));
        let all = spread((1..=200).rev().collect());
        assert_eq!(all, Some(Spread { min: 1, p50: 100, p99: 198, max: 200 }));
    }

    #[test]
    fn words_digits_and_signs_are_tokens() {
        assert_eq!(tokens(""), 0);
        assert_eq!(tokens("What is 12 + 3?"), 7);
    }

    #[test]
    fn files_are_described_by_their_kind_and_wrong_rows_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let pool = Utf8Path::from_path(folder.path()).unwrap();
        fs::create_dir_all(pool.join("a/deep")).unwrap();
        fs::write(pool.join("a/README.md"), "# a\n").unwrap();
        fs::write(pool.join("a/deep/x.jsonl"), "{\"q\": \"one two\", \"s\": \"\"}\n{\"q\": 12}\n")
            .unwrap();
        fs::write(pool.join("a/y.csv"), "Question,A\n\"one, two\",\n").unwrap();
        fs::write(pool.join("a/z.bin"), [0, 1]).unwrap();
        let info = describe(pool).unwrap();
        let source = &info.sources[0];
        assert_eq!((source.name.as_str(), source.readme.as_str()), ("a", "# a\n"));
        let Content::Table { rows, columns, samples } = &source.files[0].content else {
            panic!("{source:?}")
        };
        assert_eq!((*rows, samples.len()), (2, 2));
        let of = |length| Some(Spread { min: length, p50: length, p99: length, max: length });
        let named = |name: &str, empty, tokens| ColumnInfo { name: name.to_owned(), empty, tokens };
        assert_eq!(columns, &[named("q", 0, of(2)), named("s", 2, None)]);
        let Content::Table { columns, .. } = &source.files[1].content else { panic!("{source:?}") };
        assert_eq!(columns, &[named("A", 1, None), named("Question", 0, of(3))]);
        assert_eq!(source.files[2].content, Content::Other);
        fs::write(pool.join("a/deep/x.jsonl"), "{}\n[]\n").unwrap();
        let refused = describe(pool).unwrap_err().to_string();
        assert!(refused.contains("x.jsonl") && refused.contains("row 2"), "{refused}");
    }
}
