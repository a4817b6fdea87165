//! Columns of cells, and their CSV form.
//!
//! A missing number is NaN, a missing text is empty; both are written as an empty cell.

use std::fmt::Write as _;

/// The cells of one column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Numbers, written with a fixed number of decimals.
    Numbers {
        /// One number per row, NaN where it is missing.
        values: Vec<f64>,
        /// Digits after the point.
        decimals: usize,
    },
    /// One text per row, empty where it is missing.
    Text(Vec<String>),
}

/// The name and the cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name in the table's header.
    pub name: String,
    /// One cell per row.
    pub cells: Cells,
}

/// Columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// From left to right.
    pub columns: Vec<Column>,
}

impl Cells {
    /// Number of rows, missing values included.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers { values, .. } => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chosen rows, in the given order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers { values, decimals } => Self::Numbers {
                values: rows.iter().map(|row| values[*row]).collect(),
                decimals: *decimals,
            },
            Self::Text(values) => Self::Text(rows.iter().map(|row| values[*row].clone()).collect()),
        }
    }

    /// The text of one cell.
    pub fn cell(&self, row: usize) -> String {
        match self {
            Self::Numbers { values, .. } if values[row].is_nan() => String::new(),
            Self::Numbers { values, decimals } => format!("{:.decimals$}", values[row]),
            Self::Text(values) => values[row].clone(),
        }
    }
}

impl Table {
    /// Number of rows of every column; 0 without columns.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.cells.len())
    }

    /// Adds a column on the right.
    pub fn push(&mut self, name: &str, cells: Cells) {
        self.columns.push(Column { name: name.to_owned(), cells });
    }

    /// The column called `name`.
    pub fn column(&self, name: &str) -> Option<&Cells> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.cells)
    }

    /// The column called `name`, to change it.
    pub fn column_mut(&mut self, name: &str) -> Option<&mut Cells> {
        self.columns.iter_mut().find(|column| column.name == name).map(|column| &mut column.cells)
    }

    /// The numbers of the column called `name`.
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        match self.column(name)? {
            Cells::Numbers { values, .. } => Some(values),
            Cells::Text(_) => None,
        }
    }

    /// The words of the column called `name`.
    pub fn text(&self, name: &str) -> Option<&[String]> {
        match self.column(name)? {
            Cells::Text(values) => Some(values),
            Cells::Numbers { .. } => None,
        }
    }

    /// The chosen rows, in the given order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        let take =
            |column: &Column| Column { name: column.name.clone(), cells: column.cells.take(rows) };
        Self { columns: self.columns.iter().map(take).collect() }
    }

    /// As CSV with a header. Cells never hold commas, quotes or line breaks by construction
    /// of the scenarios, which a test holds.
    pub fn to_csv(&self) -> Vec<u8> {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        let mut text = names.join(",");
        text.push('\n');
        for row in 0..self.rows() {
            for (index, column) in self.columns.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}", column.cells.cell(row));
            }
            text.push('\n');
        }
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_has_fixed_decimals_and_empty_cells_for_missing_values() {
        let mut table = Table::default();
        table.push("a", Cells::Numbers { values: vec![1.25, f64::NAN], decimals: 1 });
        table.push("b", Cells::Text(vec![String::new(), "x".to_owned()]));
        assert_eq!(String::from_utf8(table.to_csv()).unwrap(), "a,b\n1.2,\n,x\n");
    }
}
