//! Matrices of shape `[rows, columns]` from lists of columns or of rows.

use ndarray::Array2;

/// A matrix with `rows` rows; the number of rows is asked for because there may be no column.
///
/// # Panics
/// If a column has fewer than `rows` values.
pub fn from_columns(rows: usize, columns: &[Vec<f64>]) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns.len()), |(row, column)| columns[column][row])
}

/// A matrix with one row per list; without rows it has no columns.
///
/// # Panics
/// If a row has fewer values than the first.
pub fn from_rows<R: AsRef<[f64]>>(rows: &[R]) -> Array2<f64> {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    Array2::from_shape_fn((rows.len(), columns), |(row, column)| rows[row].as_ref()[column])
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn columns_and_rows_of_one_table_give_the_same_matrix() {
        let expected = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        assert_eq!(from_rows(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), expected);
        assert_eq!(from_columns(2, &[vec![1.0, 4.0], vec![2.0, 5.0], vec![3.0, 6.0]]), expected);
        assert_eq!(from_columns(2, &[]).dim(), (2, 0));
        assert_eq!(from_rows::<Vec<f64>>(&[]).dim(), (0, 0));
    }
}
