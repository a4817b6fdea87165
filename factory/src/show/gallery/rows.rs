//! A CSV file as text cells.

use super::GalleryError;
use crate::data::table::{self, Cells};
use camino::Utf8Path;
use fs_err as fs;
use polars::prelude::DataFrame;

/// Cells longer than this on average are prose.
const PROSE: usize = 60;

/// A header and rows of as many cells.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// Column names, from left to right.
    pub(crate) header: Vec<String>,
    /// The cells of each row.
    pub(crate) rows: Vec<Vec<String>>,
}

impl Rows {
    /// Reads a CSV file; fails if it cannot be opened or parsed.
    pub(crate) fn read(path: &Utf8Path) -> Result<Self, GalleryError> {
        Ok(Self::of(&read(path)?))
    }

    /// The cells of a table that was read.
    pub(crate) fn of(table: &DataFrame) -> Self {
        let mut rows = vec![Vec::with_capacity(table.width()); table.height()];
        for column in table.columns() {
            if let Cells::Text(cells) = Cells::from_column(column) {
                rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell.to_owned()));
            }
        }
        let header = table.get_column_names_owned().into_iter().map(Into::into).collect();
        Self { header, rows }
    }

    /// The place of a column.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| column == name)
    }

    /// The cells of a column, from the top.
    pub(crate) fn column(&self, place: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().map(move |row| row[place].as_str())
    }

    /// The columns that hold prose.
    pub(crate) fn prose(&self) -> Vec<usize> {
        let long = |place: &usize| {
            let letters: usize = self.column(*place).map(str::len).sum();
            letters > PROSE * self.rows.len().max(1)
        };
        // Pixels, masks and boxes are long as well, and begin with a digit or a class name.
        let worded = |place: &usize| {
            let mut words = self.column(*place).flat_map(str::split_whitespace);
            words.by_ref().take(50).filter(|word| word.parse::<f64>().is_err()).count() > 35
        };
        (0..self.header.len()).filter(long).filter(worded).collect()
    }
}

/// A CSV file, every cell as it is written.
pub(crate) fn read(path: &Utf8Path) -> Result<DataFrame, GalleryError> {
    table::read_csv(&fs::read(path)?).map_err(|error| GalleryError::Unreadable {
        path: path.to_owned(),
        fault: error.to_string(),
    })
}
