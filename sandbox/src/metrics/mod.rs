//! Metrics: pure functions over slices, the truth always first.
//!
//! [`Metric`] names them and knows their direction and input; the formulas live in
//! [`classification`] and [`regression`]. Every one agrees with scikit-learn 1.9 or `SciPy`
//! 1.17 to 1e-9 on fuzzed inputs (`sandbox/tests/metrics.rs`).

pub mod classification;
pub mod regression;

use crate::grade::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How submissions are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of exact labels, [0, 1].
    Accuracy,
    /// Mean recall over the classes that occur, [0, 1].
    BalancedAccuracy,
    /// F1 of class 1, [0, 1].
    F1,
    /// Unweighted mean F1 over the classes seen in truth or prediction, [0, 1].
    MacroF1,
    /// Matthews correlation coefficient, [-1, 1].
    Mcc,
    /// Cohen's kappa with quadratic weights, [-1, 1].
    QuadraticKappa,
    /// Area under the ROC curve, [0, 1].
    RocAuc,
    /// Average precision, [0, 1].
    AveragePrecision,
    /// Binary or multiclass cross-entropy, [0, ∞).
    LogLoss,
    /// Mean squared error of the probability of class 1, [0, 1].
    Brier,
    /// Root mean squared error, [0, ∞).
    Rmse,
    /// Mean absolute error, [0, ∞).
    Mae,
    /// Median absolute error, [0, ∞).
    MedianAe,
    /// Root mean squared difference of log(1 + y), [0, ∞); refuses values ≤ -1.
    Rmsle,
    /// Mean absolute error relative to the truth, [0, ∞).
    Mape,
    /// Symmetric mean absolute percentage error, [0, 2].
    Smape,
    /// Coefficient of determination, (-∞, 1].
    R2,
    /// Pearson correlation, [-1, 1].
    Pearson,
    /// Spearman rank correlation, [-1, 1].
    Spearman,
}

/// Why a metric has no value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MetricError {
    /// No rows.
    #[error("there are no rows to score")]
    Empty,
    /// Truth and prediction of different lengths.
    #[error("{truth} rows of truth but {predicted} predictions")]
    Length {
        /// Rows of truth.
        truth: usize,
        /// Predictions.
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
    /// The result overflowed.
    #[error("the values are too large")]
    Overflow,
    /// This metric does not score this kind of prediction.
    #[error("{0} does not score this kind of prediction")]
    WrongInput(Metric),
}

impl Metric {
    /// All metrics, in declaration order.
    pub const ALL: [Self; 19] = [
        Self::Accuracy,
        Self::BalancedAccuracy,
        Self::F1,
        Self::MacroF1,
        Self::Mcc,
        Self::QuadraticKappa,
        Self::RocAuc,
        Self::AveragePrecision,
        Self::LogLoss,
        Self::Brier,
        Self::Rmse,
        Self::Mae,
        Self::MedianAe,
        Self::Rmsle,
        Self::Mape,
        Self::Smape,
        Self::R2,
        Self::Pearson,
        Self::Spearman,
    ];

    /// Which way it improves.
    pub fn direction(self) -> Direction {
        match self {
            Self::LogLoss
            | Self::Brier
            | Self::Rmse
            | Self::Mae
            | Self::MedianAe
            | Self::Rmsle
            | Self::Mape
            | Self::Smape => Direction::LowerIsBetter,
            _ => Direction::HigherIsBetter,
        }
    }

    /// The name as in manifests and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::BalancedAccuracy => "balanced_accuracy",
            Self::F1 => "f1",
            Self::MacroF1 => "macro_f1",
            Self::Mcc => "mcc",
            Self::QuadraticKappa => "quadratic_kappa",
            Self::RocAuc => "roc_auc",
            Self::AveragePrecision => "average_precision",
            Self::LogLoss => "log_loss",
            Self::Brier => "brier",
            Self::Rmse => "rmse",
            Self::Mae => "mae",
            Self::MedianAe => "median_ae",
            Self::Rmsle => "rmsle",
            Self::Mape => "mape",
            Self::Smape => "smape",
            Self::R2 => "r2",
            Self::Pearson => "pearson",
            Self::Spearman => "spearman",
        }
    }

    /// Scores real-valued predictions of a real-valued truth.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined or takes other input.
    pub fn regression(self, truth: &[f64], predicted: &[f64]) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let value = match self {
            Self::Rmse => regression::rmse(truth, predicted),
            Self::Mae => regression::mae(truth, predicted),
            Self::MedianAe => regression::median_ae(truth, predicted),
            Self::Rmsle => regression::rmsle(truth, predicted)?,
            Self::Mape => regression::mape(truth, predicted),
            Self::Smape => regression::smape(truth, predicted),
            Self::R2 => regression::r2(truth, predicted)?,
            Self::Pearson => regression::pearson(truth, predicted)?,
            Self::Spearman => regression::spearman(truth, predicted)?,
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(value)
    }

    /// Scores predicted class indices.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined or takes other input.
    pub fn labels(self, truth: &[usize], predicted: &[usize]) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let value = match self {
            Self::Accuracy => classification::accuracy(truth, predicted),
            Self::BalancedAccuracy => classification::balanced_accuracy(truth, predicted),
            Self::F1 => classification::f1(truth, predicted, 1),
            Self::MacroF1 => classification::macro_f1(truth, predicted),
            Self::Mcc => classification::mcc(truth, predicted),
            Self::QuadraticKappa => classification::quadratic_kappa(truth, predicted)?,
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(value)
    }

    /// Scores probabilities of class 1 for a truth of classes 0 and 1.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined or takes other input.
    pub fn scores(self, truth: &[usize], predicted: &[f64]) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let value = match self {
            Self::RocAuc => classification::roc_auc(truth, predicted)?,
            Self::AveragePrecision => classification::average_precision(truth, predicted)?,
            Self::LogLoss => classification::binary_log_loss(truth, predicted),
            Self::Brier => classification::brier(truth, predicted),
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(value)
    }

    /// Scores row-major `[rows, classes]` probabilities.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined or takes other input.
    pub fn class_probabilities(
        self,
        truth: &[usize],
        predicted: &[f64],
        classes: usize,
    ) -> Result<f64, MetricError> {
        check_lengths(truth.len() * classes, predicted.len())?;
        match self {
            Self::LogLoss => finite(classification::log_loss(truth, predicted, classes)),
            _ => Err(MetricError::WrongInput(self)),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn check_lengths(truth: usize, predicted: usize) -> Result<(), MetricError> {
    if truth != predicted {
        return Err(MetricError::Length { truth, predicted });
    }
    if truth == 0 { Err(MetricError::Empty) } else { Ok(()) }
}

fn finite(value: f64) -> Result<f64, MetricError> {
    if value.is_finite() { Ok(value) } else { Err(MetricError::Overflow) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_serde_names_and_all_is_complete() {
        for (index, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!(metric as usize, index);
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
        }
    }
}
