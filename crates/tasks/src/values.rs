//! Predictions and truth of every kind, and the one function that scores them.
//!
//! Nothing here knows of files: [`crate::submission`] fills these values from CSV cells, and
//! the factory makes them from its forecasts.

use crate::boxes::{Detection, Object};
use crate::mask::Mask;
use crate::metrics::images::ImageFormat;
use crate::metrics::{Metric, MetricError};

/// Predictions or truth, one entry per row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Real numbers: the target itself, the probability of class 1, or a score to rank by.
    Numbers(Vec<f64>),
    /// Real numbers, row-major `[rows, columns]`: several targets, quantiles of one, or one
    /// probability per class or label.
    Matrix {
        /// The values, row-major `[rows, columns]`.
        values: Vec<f64>,
        /// Number of columns, at least 1.
        columns: usize,
    },
    /// Indices into the prediction's sorted classes (0 and 1 for probabilities).
    Labels(Vec<usize>),
    /// Whether each label holds, row-major `[rows, labels]`.
    Flags {
        /// Whether each label holds, row-major `[rows, labels]`.
        values: Vec<bool>,
        /// Number of labels, at least 1.
        labels: usize,
    },
    /// The truth of a ranking.
    Grades {
        /// How relevant each row is to its query; 0 is not at all.
        grades: Vec<u32>,
        /// The query that each row belongs to.
        queries: Vec<String>,
    },
    /// One mask of set pixels per row.
    Masks(Vec<Mask>),
    /// The truth of detection.
    Objects(Vec<Vec<Object>>),
    /// The predicted boxes of each row.
    Detections(Vec<Vec<Detection>>),
    /// Images of one format.
    Images {
        /// Intensities below `frame.levels`, each image row-major `[height, width]`.
        images: Vec<Vec<u16>>,
        /// Width, height and number of intensities of all images.
        frame: ImageFormat,
    },
    /// One text per row.
    Texts(Vec<String>),
    /// Identifiers of each row: guesses, the best first, or all that are right, in any order.
    Ids(Vec<Vec<String>>),
}

impl Values {
    /// Number of rows of the table.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Matrix { values, columns } => values.len() / (*columns).max(1),
            Self::Labels(values) => values.len(),
            Self::Flags { values, labels } => values.len() / (*labels).max(1),
            Self::Grades { grades, .. } => grades.len(),
            Self::Masks(masks) => masks.len(),
            Self::Objects(rows) => rows.len(),
            Self::Detections(rows) => rows.len(),
            Self::Images { images, .. } => images.len(),
            Self::Texts(texts) => texts.len(),
            Self::Ids(rows) => rows.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The chosen rows, in the given order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Numbers(values) => Self::Numbers(take(values, rows, 1)),
            Self::Matrix { values, columns } => {
                Self::Matrix { values: take(values, rows, *columns), columns: *columns }
            }
            Self::Labels(values) => Self::Labels(take(values, rows, 1)),
            Self::Flags { values, labels } => {
                Self::Flags { values: take(values, rows, *labels), labels: *labels }
            }
            Self::Grades { grades, queries } => {
                Self::Grades { grades: take(grades, rows, 1), queries: take(queries, rows, 1) }
            }
            Self::Masks(masks) => Self::Masks(take(masks, rows, 1)),
            Self::Objects(objects) => Self::Objects(take(objects, rows, 1)),
            Self::Detections(detections) => Self::Detections(take(detections, rows, 1)),
            Self::Images { images, frame } => {
                Self::Images { images: take(images, rows, 1), frame: *frame }
            }
            Self::Texts(texts) => Self::Texts(take(texts, rows, 1)),
            Self::Ids(ids) => Self::Ids(take(ids, rows, 1)),
        }
    }

    /// Keeps the chosen rows, which must ascend, without a copy of any.
    pub(crate) fn keep(&mut self, rows: &[usize]) {
        match self {
            Self::Numbers(values) => keep(values, rows, 1),
            Self::Matrix { values, columns } => keep(values, rows, *columns),
            Self::Labels(values) => keep(values, rows, 1),
            Self::Flags { values, labels } => keep(values, rows, *labels),
            Self::Grades { grades, queries } => {
                keep(grades, rows, 1);
                keep(queries, rows, 1);
            }
            Self::Masks(masks) => keep(masks, rows, 1),
            Self::Objects(objects) => keep(objects, rows, 1),
            Self::Detections(detections) => keep(detections, rows, 1),
            Self::Images { images, .. } => keep(images, rows, 1),
            Self::Texts(texts) => keep(texts, rows, 1),
            Self::Ids(ids) => keep(ids, rows, 1),
        }
    }
}

/// Keeps the chosen rows of a row-major table, which ascend.
fn keep<T>(values: &mut Vec<T>, rows: &[usize], width: usize) {
    for (place, row) in rows.iter().enumerate() {
        for column in 0..width {
            values.swap(place * width + column, row * width + column);
        }
    }
    values.truncate(rows.len() * width);
}

/// The chosen rows of a row-major table.
fn take<T: Clone>(values: &[T], rows: &[usize], width: usize) -> Vec<T> {
    rows.iter().flat_map(|row| &values[row * width..(row + 1) * width]).cloned().collect()
}

/// The metric of `predicted`, given what is true of the same rows.
///
/// # Errors
/// [`MetricError`] where the metric is undefined, or where the two sides or the metric do not
/// belong together.
pub fn score(metric: Metric, truth: &Values, predicted: &Values) -> Result<f64, MetricError> {
    match (truth, predicted) {
        (Values::Numbers(truth), Values::Numbers(predicted)) => metric.regression(truth, predicted),
        (
            Values::Matrix { values: truth, columns },
            Values::Matrix { values: predicted, columns: found },
        ) if columns == found => metric.targets(truth, predicted, *columns),
        (Values::Numbers(truth), Values::Matrix { values, columns }) => {
            metric.quantiles(truth, values, *columns)
        }
        (Values::Labels(truth), Values::Labels(predicted)) => metric.labels(truth, predicted),
        (Values::Labels(truth), Values::Numbers(predicted)) => metric.scores(truth, predicted),
        (Values::Labels(truth), Values::Matrix { values, columns }) => {
            metric.class_probabilities(truth, values, *columns)
        }
        (
            Values::Flags { values: truth, labels },
            Values::Flags { values: predicted, labels: found },
        ) if labels == found => metric.flags(truth, predicted, *labels),
        (Values::Flags { values: truth, labels }, Values::Matrix { values, columns })
            if labels == columns =>
        {
            metric.label_probabilities(truth, values, *labels)
        }
        (Values::Grades { grades, queries }, Values::Numbers(predicted)) => {
            metric.ranking(grades, queries, predicted)
        }
        (Values::Masks(truth), Values::Masks(predicted)) => metric.masks(truth, predicted),
        (Values::Objects(truth), Values::Detections(predicted)) => metric.boxes(truth, predicted),
        (Values::Images { images: truth, frame }, Values::Images { images, frame: found })
            if frame == found =>
        {
            metric.images(truth, images, *frame)
        }
        (Values::Texts(truth), Values::Texts(predicted)) => metric.texts(truth, predicted),
        (Values::Ids(truth), Values::Ids(predicted)) => metric.ids(truth, predicted),
        _ => Err(MetricError::WrongInput(metric)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_rows_keeps_each_row_whole() {
        let matrix = Values::Matrix { values: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], columns: 2 };
        let taken = Values::Matrix { values: vec![4.0, 5.0, 0.0, 1.0], columns: 2 };
        assert_eq!(matrix.take(&[2, 0]), taken);
        let mut kept = matrix.clone();
        kept.keep(&[0, 2]);
        assert_eq!(kept, matrix.take(&[0, 2]));
        assert_eq!((matrix.len(), taken.len()), (3, 2));
    }

    #[test]
    fn values_of_different_kinds_or_lengths_are_refused() {
        let numbers = Values::Numbers(vec![1.0]);
        let masks = Values::Masks(vec![Mask::default()]);
        let wide = Values::Matrix { values: vec![1.0, 2.0], columns: 2 };
        let narrow = Values::Matrix { values: vec![1.0], columns: 1 };
        for (truth, predicted) in [(&numbers, &masks), (&wide, &narrow)] {
            for metric in Metric::ALL {
                let score = score(metric, truth, predicted);
                assert_eq!(score, Err(MetricError::WrongInput(metric)));
            }
        }
    }
}
