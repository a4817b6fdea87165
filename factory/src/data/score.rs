//! Forecasts of the baselines, and the form in which they and the truth are scored.

use crate::data::labels::Truth;
use tasks::prediction::{Prediction, QUANTILES};
use tasks::values::Values;

/// The probability from which a label is worth naming: half of the F1 that can be reached,
/// which is about 0.7 here (Lipton, Elkan and Naryanaswamy 2014, theorem 1).
const FLAGGED: f64 = 0.35;

/// What a model says about each row, before it takes the submission's form.
#[derive(Debug, Clone, PartialEq)]
pub enum Forecast {
    /// A number per row.
    Numbers(Vec<f64>),
    /// A probability per row and class, row by row.
    Classes {
        /// Probabilities of shape `[rows, classes]`, flattened row by row.
        values: Vec<f64>,
        /// Number of classes per row.
        classes: usize,
    },
    /// The quantiles of a number per row, from the lowest to the highest.
    Quantiles(Vec<[f64; QUANTILES.len()]>),
    /// One forecast per target, in the targets' order.
    Several(Vec<Self>),
    /// Masks, boxes or pictures.
    Structured(Values),
}

impl Forecast {
    /// One target's forecast as it is, or several targets' forecasts side by side.
    pub fn joined(mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 { parts.swap_remove(0) } else { Self::Several(parts) }
    }

    /// Its targets' forecasts: itself, or the several ones.
    pub fn parts(&self) -> &[Self] {
        match self {
            Self::Several(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    /// The same forecast of each target for every row.
    pub fn constant(constants: &[Vec<f64>], truth: &Truth) -> Self {
        let rows = truth.len();
        let one = |(row, truth): (&Vec<f64>, &Truth)| match truth {
            Truth::Classes { .. } => Self::Classes { values: row.repeat(rows), classes: row.len() },
            _ => match **row {
                [low, middle, high] => Self::Quantiles(vec![[low, middle, high]; rows]),
                _ => Self::Numbers(vec![row[0]; rows]),
            },
        };
        Self::joined(constants.iter().zip(truth.parts()).map(one).collect())
    }

    /// The form that `prediction` asks for: labels are the most probable class, flags those
    /// that pass `FLAGGED`.
    ///
    /// # Panics
    /// If the forecast is not of the prediction's kind: the ladder forecasts what the
    /// blueprint asks for.
    pub fn values(&self, prediction: &Prediction) -> Values {
        match (prediction, self) {
            (_, Self::Structured(values)) => values.clone(),
            (Prediction::Number { .. } | Prediction::Relevance { .. }, Self::Numbers(values)) => {
                Values::Numbers(values.clone())
            }
            (Prediction::Probability { .. }, Self::Classes { .. }) => Values::Numbers(self.ones()),
            (Prediction::Label { .. }, Self::Classes { values, classes }) => {
                Values::Labels(argmax(values, *classes))
            }
            (Prediction::ClassProbabilities { .. }, Self::Classes { values, classes }) => {
                Values::Matrix { values: values.clone(), columns: *classes }
            }
            (Prediction::Quantiles { columns, .. }, Self::Quantiles(rows)) => {
                Values::Matrix { values: rows.concat(), columns: columns.len() }
            }
            (Prediction::Numbers { columns }, _) => {
                let of = |part: &Self| match part {
                    Self::Numbers(values) => values.clone(),
                    _ => part.ones(),
                };
                let values = interleaved(&self.parts().iter().map(of).collect::<Vec<_>>());
                Values::Matrix { values, columns: columns.len() }
            }
            (Prediction::Probabilities { columns }, _) => {
                let values = interleaved(&self.parts().iter().map(Self::ones).collect::<Vec<_>>());
                Values::Matrix { values, columns: columns.len() }
            }
            (Prediction::Flags { labels, .. }, _) => {
                let ones = interleaved(&self.parts().iter().map(Self::ones).collect::<Vec<_>>());
                let values = ones.into_iter().map(|p| p > FLAGGED).collect();
                Values::Flags { values, labels: labels.len() }
            }
            (other, _) => panic!("a forecast of the wrong kind for {other:?}"),
        }
    }

    /// The probabilities of class 1.
    fn ones(&self) -> Vec<f64> {
        match self {
            Self::Classes { values, classes } => {
                values.chunks_exact(*classes).map(|row| row[1]).collect()
            }
            _ => panic!("numbers have no classes"),
        }
    }
}

/// Columns of equal length, row by row.
fn interleaved<T: Copy>(columns: &[Vec<T>]) -> Vec<T> {
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect()
}

impl Truth {
    /// The form that answers to `prediction` have.
    ///
    /// # Panics
    /// If the truth is not of the prediction's kind.
    pub fn values(&self, prediction: &Prediction) -> Values {
        match (prediction, self) {
            (_, Self::Structured(values)) => values.clone(),
            (
                Prediction::Number { .. } | Prediction::Quantiles { .. },
                Self::Numbers { values, .. },
            ) => Values::Numbers(values.clone()),
            (Prediction::Numbers { columns }, _) => {
                let parts: Vec<Vec<f64>> = self.parts().iter().map(Self::as_numbers).collect();
                Values::Matrix { values: interleaved(&parts), columns: columns.len() }
            }
            (
                Prediction::Probability { .. }
                | Prediction::Label { .. }
                | Prediction::ClassProbabilities { .. },
                Self::Classes { values, .. },
            ) => Values::Labels(values.clone()),
            (
                Prediction::Probabilities { columns: labels } | Prediction::Flags { labels, .. },
                _,
            ) => {
                let parts: Vec<Vec<f64>> = self.parts().iter().map(Self::as_numbers).collect();
                let values = interleaved(&parts).into_iter().map(|flag| flag > 0.5).collect();
                Values::Flags { values, labels: labels.len() }
            }
            (Prediction::Relevance { .. }, Self::Grades { values, queries }) => Values::Grades {
                // Grades are a handful of small numbers.
                grades: values.iter().map(|grade| u32::try_from(*grade).unwrap_or(0)).collect(),
                queries: queries.iter().map(ToString::to_string).collect(),
            },
            (other, _) => panic!("a truth of the wrong kind for {other:?}"),
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
