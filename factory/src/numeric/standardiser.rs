//! Columns brought to mean 0 and standard deviation 1, as scikit-learn's `StandardScaler` does.

use ndarray::{Array1, Array2, Axis};

/// The standard deviation up to which a column counts as constant.
const CONSTANT: f64 = 1e-12;

/// Means and standard deviations of the columns of training data.
#[derive(Debug, Clone)]
pub(super) struct Standardiser {
    means: Array1<f64>,
    spreads: Array1<f64>,
}

impl Standardiser {
    /// Of the columns of `x` (ddof 0).
    ///
    /// # Panics
    /// If `x` has no rows.
    pub(super) fn new(x: &Array2<f64>) -> Self {
        let means = x.mean_axis(Axis(0)).expect("a model is fitted to at least one row");
        // A constant column becomes zero.
        let spreads = x.std_axis(Axis(0), 0.0).mapv(|s| if s > CONSTANT { s } else { 1.0 });
        Self { means, spreads }
    }

    /// `x` in units of the training data, of the same shape.
    pub(super) fn apply(&self, x: &Array2<f64>) -> Array2<f64> {
        (x - &self.means) / &self.spreads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn standardised_columns_have_mean_zero_and_spread_one_and_constant_ones_are_zero() {
        let x = array![[1.0, 7.0], [2.0, 7.0], [6.0, 7.0]];
        let z = Standardiser::new(&x).apply(&x);
        assert!(z.column(0).sum().abs() < 1e-12);
        assert!((z.column(0).std(0.0) - 1.0).abs() < 1e-12);
        assert_eq!(z.column(1), array![0.0, 0.0, 0.0]);
    }
}
