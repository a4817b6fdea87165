//! Which metric scores which kind of prediction.

use super::images::Frame;
use super::{
    Metric, MetricError, classification, detection, images, multilabel, ranking, regression,
    segmentation,
};
use crate::boxes::{Detection, Object};
use crate::mask::Mask;

impl Metric {
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
            Self::BalancedAccuracy => classification::balanced_accuracy(truth, predicted),
            Self::F1 => classification::f1(truth, predicted, 1),
            Self::MacroF1 => classification::macro_f1(truth, predicted),
            // Each wrong row is one false positive and one false negative.
            Self::Accuracy | Self::MicroF1 => classification::accuracy(truth, predicted),
            Self::WeightedF1 => classification::weighted_f1(truth, predicted),
            Self::MacroJaccard => classification::macro_jaccard(truth, predicted),
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
        let value = match self {
            Self::LogLoss => classification::log_loss(truth, predicted, classes),
            Self::OvrAuc => classification::ovr_auc(truth, predicted, classes)?,
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(value)
    }
    /// Scores several real targets, row-major `[rows, columns]`, as the mean over the columns.
    /// [`Metric::Mcrmse`] is the name of the mean RMSE, so [`Metric::Rmse`] is refused.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined for a column or takes other input.
    pub fn targets(
        self,
        truth: &[f64],
        predicted: &[f64],
        columns: usize,
    ) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let metric = match self {
            Self::Mcrmse => Self::Rmse,
            Self::Rmse => return Err(MetricError::WrongInput(self)),
            other => other,
        };
        let score = |column| {
            let values = |side: &[f64]| -> Vec<f64> {
                side.iter().skip(column).step_by(columns).copied().collect()
            };
            metric.regression(&values(truth), &values(predicted))
        };
        finite(mean_of((0..columns).map(score))?)
    }

    /// Scores predicted label sets, row-major `[rows, labels]`.
    ///
    /// # Errors
    /// [`MetricError`] where the metric takes other input.
    pub fn flags(
        self,
        truth: &[bool],
        predicted: &[bool],
        labels: usize,
    ) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let value = match self {
            Self::Accuracy => multilabel::accuracy(truth, predicted, labels),
            Self::MacroF1 => multilabel::macro_f1(truth, predicted, labels),
            Self::MicroF1 => multilabel::micro_f1(truth, predicted),
            Self::WeightedF1 => multilabel::weighted_f1(truth, predicted, labels),
            Self::SamplesF1 => multilabel::samples_f1(truth, predicted, labels),
            Self::MacroJaccard => multilabel::macro_jaccard(truth, predicted, labels),
            Self::SamplesJaccard => multilabel::samples_jaccard(truth, predicted, labels),
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(value)
    }

    /// Scores independent probabilities of labels, row-major `[rows, labels]`, as the mean over
    /// the labels.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined for a label or takes other input.
    pub fn label_probabilities(
        self,
        truth: &[bool],
        predicted: &[f64],
        labels: usize,
    ) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let metric = match self {
            Self::MeanColumnAuc => Self::RocAuc,
            Self::AveragePrecision | Self::LogLoss => self,
            _ => return Err(MetricError::WrongInput(self)),
        };
        let score = |label| {
            let truth: Vec<usize> =
                truth.iter().skip(label).step_by(labels).map(|flag| usize::from(*flag)).collect();
            let predicted: Vec<f64> =
                predicted.iter().skip(label).step_by(labels).copied().collect();
            metric.scores(&truth, &predicted)
        };
        finite(mean_of((0..labels).map(score))?)
    }

    /// Scores real numbers that rank the rows of each query, the highest first, given how
    /// relevant each row is.
    ///
    /// # Errors
    /// [`MetricError`] where the metric takes other input.
    pub fn ranking(
        self,
        grades: &[u32],
        queries: &[String],
        predicted: &[f64],
    ) -> Result<f64, MetricError> {
        check_lengths(grades.len(), predicted.len())?;
        check_lengths(queries.len(), predicted.len())?;
        let of_query: fn(&[u32], &[f64]) -> f64 = match self {
            Self::MapAt5 => |grades, scores| ranking::average_precision(grades, scores, 5),
            Self::MapAt10 => |grades, scores| ranking::average_precision(grades, scores, 10),
            Self::NdcgAt5 => |grades, scores| ranking::ndcg(grades, scores, 5),
            Self::NdcgAt10 => |grades, scores| ranking::ndcg(grades, scores, 10),
            Self::Mrr => ranking::reciprocal_rank,
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(ranking::mean_over_queries(grades, queries, predicted, of_query))
    }

    /// Scores masks.
    ///
    /// # Errors
    /// [`MetricError`] where the metric takes other input.
    pub fn masks(self, truth: &[Mask], predicted: &[Mask]) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let of_row: fn(&Mask, &Mask) -> f64 = match self {
            Self::Dice => segmentation::dice,
            Self::Iou => segmentation::iou,
            Self::MeanIou => segmentation::iou_passes,
            _ => return Err(MetricError::WrongInput(self)),
        };
        let rows = truth.iter().zip(predicted).map(|(truth, mask)| Ok(of_row(truth, mask)));
        finite(mean_of(rows)?)
    }

    /// Scores boxes.
    ///
    /// # Errors
    /// [`MetricError::NoTruth`] if the truth holds no box at all; [`MetricError`] where the
    /// metric takes other input.
    pub fn boxes(
        self,
        truth: &[Vec<Object>],
        predicted: &[Vec<Detection>],
    ) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let value = match self {
            Self::BoxMap50 => detection::mean_average_precision(truth, predicted, &[0.5])?,
            Self::BoxMap50To95 => {
                detection::mean_average_precision(truth, predicted, &detection::thresholds())?
            }
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(value)
    }

    /// Scores images of one format.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined for such images or takes other input.
    pub fn images(
        self,
        truth: &[Vec<u16>],
        predicted: &[Vec<u16>],
        frame: Frame,
    ) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        for image in truth.iter().chain(predicted) {
            check_lengths(frame.width.saturating_mul(frame.height), image.len())?;
        }
        let rows = truth.iter().zip(predicted);
        let value = match self {
            Self::Rmse | Self::Mae if frame.width == 0 || frame.height == 0 => {
                return Err(MetricError::Empty);
            }
            Self::Rmse => Ok(images::rmse(truth, predicted)),
            Self::Mae => Ok(images::mae(truth, predicted)),
            Self::Psnr => mean_of(rows.map(|(truth, image)| Ok(images::psnr(truth, image, frame)))),
            Self::Ssim => mean_of(rows.map(|(truth, image)| images::ssim(truth, image, frame))),
            _ => return Err(MetricError::WrongInput(self)),
        };
        finite(value?)
    }
}

/// The mean of values that each may be undefined.
fn mean_of(
    values: impl ExactSizeIterator<Item = Result<f64, MetricError>>,
) -> Result<f64, MetricError> {
    let count = values.len() as f64;
    Ok(values.sum::<Result<f64, MetricError>>()? / count)
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
