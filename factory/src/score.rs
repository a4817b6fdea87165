//! Forecasts of the baselines, and their scores on the task's metric.

use crate::labels::Truth;
use sandbox::metrics::{Metric, MetricError};
use sandbox::task::Prediction;

/// What a model says about each row, before it takes the submission's form.
#[derive(Debug, Clone, PartialEq)]
pub enum Forecast {
    /// A number per row.
    Numbers(Vec<f64>),
    /// Row-major class probabilities.
    Classes {
        /// `[rows, classes]`.
        values: Vec<f64>,
        /// Classes per row.
        classes: usize,
    },
}

impl Forecast {
    /// The same forecast for every row.
    pub fn constant(row: &[f64], rows: usize, numeric: bool) -> Self {
        if numeric {
            Self::Numbers(vec![row[0]; rows])
        } else {
            Self::Classes { values: row.repeat(rows), classes: row.len() }
        }
    }

    /// The chosen rows.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers(values) => Self::Numbers(rows.iter().map(|row| values[*row]).collect()),
            Self::Classes { values, classes } => Self::Classes {
                values: rows
                    .iter()
                    .flat_map(|row| &values[row * classes..(row + 1) * classes])
                    .copied()
                    .collect(),
                classes: *classes,
            },
        }
    }

    /// The score of this forecast once it is written in the form that `prediction` asks for:
    /// labels are the most probable class.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined.
    pub fn score(
        &self,
        truth: &Truth,
        metric: Metric,
        prediction: &Prediction,
    ) -> Result<f64, MetricError> {
        match (truth, self, prediction) {
            (Truth::Numbers { values: truth, .. }, Self::Numbers(values), _) => {
                metric.regression(truth, values)
            }
            (
                Truth::Classes { values: truth, .. },
                Self::Classes { values, classes },
                Prediction::Probability { .. },
            ) => {
                let ones: Vec<f64> = values.chunks_exact(*classes).map(|row| row[1]).collect();
                metric.scores(truth, &ones)
            }
            (
                Truth::Classes { values: truth, .. },
                Self::Classes { values, classes },
                Prediction::Label { .. },
            ) => metric.labels(truth, &argmax(values, *classes)),
            (
                Truth::Classes { values: truth, .. },
                Self::Classes { values, classes },
                Prediction::ClassProbabilities { .. },
            ) => metric.class_probabilities(truth, values, *classes),
            _ => Err(MetricError::WrongInput(metric)),
        }
    }
}

/// The most probable class of each row; the first of equals.
pub fn argmax(values: &[f64], classes: usize) -> Vec<usize> {
    let best = |row: &[f64]| {
        (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
    };
    values.chunks_exact(classes).map(best).collect()
}
