//! Clean columns, on which rules are evaluated.

use std::collections::BTreeMap;

/// Clean columns, all of the same length. For time series, rows are blocks of `block` steps,
/// one block per series.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Frame {
    /// Number columns by name.
    pub numbers: BTreeMap<String, Vec<f64>>,
    /// Word columns by name.
    pub words: BTreeMap<String, Vec<String>>,
    /// Rows per series; 0 for data without time.
    pub block: usize,
    /// Number of rows of every column.
    pub rows: usize,
}

impl Frame {
    /// The value of a number column at a row. A column that the frame lacks counts as zero;
    /// blueprints are checked for that beforehand.
    pub(super) fn number(&self, column: &str, row: usize) -> f64 {
        self.numbers.get(column).map_or(0.0, |values| values[row])
    }
}
