//! Which way a metric improves.

use serde::{Deserialize, Serialize};

/// Which way a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A lower score is better: losses and errors.
    LowerIsBetter,
    /// A higher score is better: accuracies, areas, correlations.
    HigherIsBetter,
}

impl Direction {
    /// Whether `a` is strictly better than `b`. Nothing is better or worse than NaN.
    pub fn better(self, a: f64, b: f64) -> bool {
        match self {
            Self::LowerIsBetter => a < b,
            Self::HigherIsBetter => a > b,
        }
    }

    /// Whether `score` meets or passes `threshold`.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Direction;
    ///
    /// assert!(Direction::LowerIsBetter.reaches(0.2, 0.2));
    /// assert!(!Direction::LowerIsBetter.better(0.2, 0.2));
    /// assert!(!Direction::HigherIsBetter.reaches(f64::NAN, 0.0));
    /// ```
    pub fn reaches(self, score: f64, threshold: f64) -> bool {
        !score.is_nan() && !self.better(threshold, score)
    }

    /// `value` so that larger is always better.
    pub fn gain(self, value: f64) -> f64 {
        match self {
            Self::LowerIsBetter => -value,
            Self::HigherIsBetter => value,
        }
    }
}
