//! A dense matrix of numbers, row by row.

/// Row-major numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    /// `[rows, columns]`.
    pub values: Vec<f64>,
    /// Columns per row.
    pub columns: usize,
}

impl Matrix {
    /// From columns of equal length.
    pub fn from_columns(columns: &[Vec<f64>]) -> Self {
        let rows = columns.first().map_or(0, Vec::len);
        let mut values = Vec::with_capacity(rows * columns.len());
        for row in 0..rows {
            values.extend(columns.iter().map(|column| column[row]));
        }
        Self { values, columns: columns.len() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    /// One row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}
