//! Metrics: pure functions over slices, the truth always first.
//!
//! [`Metric`] names them and knows their direction and input; the formulas live in the modules
//! below, one per kind of prediction. Every one agrees with scikit-learn 1.9 or `SciPy` 1.17,
//! or where these have none with a plain `NumPy` implementation, to 1e-9 on fuzzed inputs
//! (`crates/tasks/tests/metrics.rs`).

pub mod classification;
pub mod detection;
mod direction;
pub mod images;
mod metric;
pub mod multilabel;
pub mod ranking;
pub mod regression;
mod scoring;
pub mod segmentation;
pub mod text;

pub use direction::Direction;
pub use metric::Metric;

/// Why a metric has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MetricError {
    /// There is no row to score.
    #[error("there are no rows to score")]
    Empty,
    /// Truth and prediction of different lengths.
    #[error("{truth} rows of truth but {predicted} predictions")]
    Length {
        /// Number of rows of truth.
        truth: usize,
        /// Number of rows of predictions.
        predicted: usize,
    },
    /// Only one class in the truth.
    #[error("the truth holds one class only")]
    OneClass,
    /// A correlation with a constant, or R² of a constant truth.
    #[error("it is undefined for constant values")]
    Constant,
    /// A value outside the metric's domain.
    #[error("{0} is outside the metric's domain")]
    Domain(f64),
    /// Nothing in the truth that could be found.
    #[error("the truth holds no object")]
    NoTruth,
    /// Images too small for the metric's window.
    #[error("the images are smaller than {0} x {0} pixels")]
    SmallImage(usize),
    /// The result is infinite or NaN.
    #[error("the values are too large")]
    Overflow,
    /// This metric does not score this kind of prediction.
    #[error("{0} does not score this kind of prediction")]
    WrongInput(Metric),
}
