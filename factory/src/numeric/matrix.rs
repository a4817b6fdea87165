//! A dense matrix of numbers, row by row.

/// A matrix whose values are stored row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    /// Values of shape `[rows, columns]`, row by row.
    pub values: Vec<f64>,
    /// Number of columns of each row.
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

    /// Number of rows; 0 without columns.
    pub fn rows(&self) -> usize {
        self.values.len().checked_div(self.columns).unwrap_or(0)
    }

    /// The values of one row; panics if there is no such row.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}
