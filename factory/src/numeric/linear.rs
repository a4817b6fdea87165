//! Linear scores on standardised inputs with an unpenalised intercept, and ridge regression.
//!
//! Ridge regression is fitted by linfa-linear's least squares: a QR decomposition whose products
//! are all of two vectors, so that its bits are the same on every processor. The product of two
//! matrices in `ndarray` is not used for anything that is written: its kernels use fused
//! multiplication where the processor has it. linfa-elasticnet without its L1 term is ridge
//! regression too, by coordinate descent, but the duality gap by which it stops does not vanish
//! without that term: it takes all the steps that it may, and is still 0.2 off on collinear
//! columns. `cargo bench -p factory --bench fits` compares them.

use crate::numeric::standardiser::Standardiser;
use linfa::DatasetBase;
use linfa::traits::Fit as _;
use linfa_linear::LinearRegression;
use ndarray::{Array1, Array2, ArrayView1, ShapeBuilder as _, s};

/// A linear score with the standardisation of its inputs.
#[derive(Debug, Clone)]
pub struct Linear {
    pub(super) inputs: Standardiser,
    /// One weight per column.
    pub(super) weights: Array1<f64>,
    pub(super) intercept: f64,
}

impl Linear {
    /// Ridge regression: minimises Σ (y − xw − b)² + `penalty` |w|².
    ///
    /// `x` has shape `[rows, columns]`, `y` one value per row.
    ///
    /// # Panics
    /// If `x` has no rows, `y` is of another length, or `penalty` is not positive.
    pub fn ridge(x: &Array2<f64>, y: &[f64], penalty: f64) -> Self {
        assert!(penalty > 0.0, "the penalty must be positive, not {penalty}");
        let inputs = Standardiser::new(x);
        let (rows, columns) = x.dim();
        // The inputs have mean 0, so the best intercept is the mean, whatever the weights.
        let y = ArrayView1::from(y);
        let intercept = y.sum() / rows as f64;
        // The same as least squares with one more row √penalty·eⱼ per column, of target 0
        // (Hastie, Tibshirani and Friedman 2009, exercise 3.12). By columns, as QR goes.
        let mut wide = Array2::zeros((rows + columns, columns).f());
        wide.slice_mut(s![..rows, ..]).assign(&inputs.apply(x));
        wide.slice_mut(s![rows.., ..]).diag_mut().fill(penalty.sqrt());
        let mut target = Array1::zeros(rows + columns);
        target.slice_mut(s![..rows]).assign(&(&y - intercept));
        let fitted = LinearRegression::new()
            .with_intercept(false)
            .fit(&DatasetBase::from((wide, target)))
            .expect("rows of the penalty make the columns independent");
        Self { inputs, weights: fitted.params().clone(), intercept }
    }

    /// The linear score of every row of `x`.
    ///
    /// # Panics
    /// If `x` does not have the columns of the training data.
    pub fn score(&self, x: &Array2<f64>) -> Vec<f64> {
        (self.inputs.apply(x).dot(&self.weights) + self.intercept).to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::draws::Draws;
    use crate::numeric::matrix::from_columns;
    use tasks::stream::Stream;

    fn plane() -> (Array2<f64>, Vec<f64>) {
        let mut draws = Draws::new(Stream::root(8));
        let columns: Vec<Vec<f64>> =
            (0..2).map(|_| (0..400).map(|_| 3.0 + 2.0 * draws.normal()).collect()).collect();
        let y = columns[0].iter().zip(&columns[1]).map(|(a, b)| 1.0 + 2.0 * a - b).collect();
        (from_columns(400, &columns), y)
    }

    #[test]
    fn ridge_with_a_tiny_penalty_recovers_a_plane() {
        let (x, y) = plane();
        let fitted = Linear::ridge(&x, &y, 1e-6).score(&x);
        assert!(fitted.iter().zip(&y).all(|(a, b)| (a - b).abs() < 1e-5));
    }

    #[test]
    fn ridge_with_more_columns_than_rows_or_none_is_defined() {
        let x = Array2::from_shape_fn((4, 9), |(row, column)| (row * (column + 1) % 5) as f64);
        let y = [1.0, 2.0, 4.0, 1.0];
        assert!(Linear::ridge(&x, &y, 1.0).score(&x).iter().all(|value| value.is_finite()));
        let nothing = Array2::zeros((4, 0));
        assert_eq!(Linear::ridge(&nothing, &y, 1.0).score(&nothing), [2.0; 4]);
    }

    #[test]
    #[should_panic(expected = "the penalty must be positive")]
    fn ridge_without_a_penalty_is_refused() {
        let (x, y) = plane();
        Linear::ridge(&x, &y, 0.0);
    }
}
