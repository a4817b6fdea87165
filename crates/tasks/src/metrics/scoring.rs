//! Which metric scores which kind of prediction.

use super::images::ImageFormat;
use super::{
    Metric, MetricError, classification, detection, images, multilabel, ranking, regression,
    segmentation, text,
};
use crate::boxes::{Detection, Object};
use crate::mask::Mask;
use crate::prediction::QUANTILES;

impl Metric {
    /// Scores real-valued predictions of a real-valued truth.
    ///
    /// # Errors
    /// [`MetricError`] where the metric is undefined or takes other input.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// assert_eq!(Metric::Mae.regression(&[1.0, 2.0, 6.0], &[1.0, 3.0, 4.0])?, 1.0);
    /// // R² of a constant truth divides by zero.
    /// assert!(Metric::R2.regression(&[1.0, 1.0], &[0.0, 2.0]).is_err());
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// let (truth, predicted) = ([0, 0, 0, 1], [0, 0, 0, 0]);
    /// assert_eq!(Metric::Accuracy.labels(&truth, &predicted)?, 0.75);
    /// assert_eq!(Metric::BalancedAccuracy.labels(&truth, &predicted)?, 0.5);
    /// assert_eq!(Metric::F1.labels(&truth, &predicted)?, 0.0);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// // Of the four pairs of a positive and a negative, three are in the right order.
    /// assert_eq!(Metric::RocAuc.scores(&[0, 0, 1, 1], &[0.1, 0.4, 0.35, 0.8])?, 0.75);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// // Two rows of three classes; the true classes got 0.5 and 0.25.
    /// let predicted = [0.25, 0.5, 0.25, 0.25, 0.25, 0.5];
    /// let loss = Metric::LogLoss.class_probabilities(&[1, 0], &predicted, 3)?;
    /// assert!((loss - (2f64.ln() + 4f64.ln()) / 2.0).abs() < 1e-12);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// // Two rows of two targets: the RMSE of the first is 0, that of the second is 3.
    /// let score = Metric::Mcrmse.targets(&[1.0, 10.0, 2.0, 20.0], &[1.0, 13.0, 2.0, 17.0], 2)?;
    /// assert_eq!(score, 1.5);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
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

    /// Scores the [`QUANTILES`] of one real target, row-major `[rows, columns]`, by the mean of their
    /// losses. Quantiles that cross each other are scored as they are.
    ///
    /// # Errors
    /// [`MetricError`] where the metric takes other input, or there are other columns.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// // The truth lies 1 above the middle, within the range from 2 to 8: the ends cost 0.1 of their
    /// // distance, the middle half of it.
    /// let loss = Metric::MeanPinballLoss.quantiles(&[6.0], &[2.0, 5.0, 8.0], 3)?;
    /// assert!((loss - (0.1 * 4.0 + 0.5 * 1.0 + 0.1 * 2.0) / 3.0).abs() < 1e-12);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
    pub fn quantiles(
        self,
        truth: &[f64],
        predicted: &[f64],
        columns: usize,
    ) -> Result<f64, MetricError> {
        if self != Self::MeanPinballLoss || columns != QUANTILES.len() {
            return Err(MetricError::WrongInput(self));
        }
        check_lengths(truth.len() * columns, predicted.len())?;
        let loss = |(at, alpha): (usize, f64)| {
            let of_one: Vec<f64> = predicted.iter().skip(at).step_by(columns).copied().collect();
            Ok(regression::pinball(truth, &of_one, alpha))
        };
        finite(mean_of(QUANTILES.into_iter().enumerate().map(loss))?)
    }

    /// Scores predicted label sets, row-major `[rows, labels]`.
    ///
    /// # Errors
    /// [`MetricError`] where the metric takes other input.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// // Two rows of two labels; the second row has one label too many.
    /// let (truth, predicted) = ([true, false, true, false], [true, false, true, true]);
    /// assert_eq!(Metric::Accuracy.flags(&truth, &predicted, 2)?, 0.5);
    /// assert_eq!(Metric::MicroF1.flags(&truth, &predicted, 2)?, 0.8);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::{Metric, MetricError};
    ///
    /// // Two rows of two labels: the first label is ranked correctly, the second is not.
    /// let truth = [true, false, false, true];
    /// assert_eq!(Metric::MeanColumnAuc.label_probabilities(&truth, &[0.9, 0.8, 0.1, 0.2], 2)?, 0.5);
    /// // A label that holds for every row has no area under the ROC curve.
    /// let constant = [true, false, true, true];
    /// let error = Metric::MeanColumnAuc.label_probabilities(&constant, &[0.9, 0.8, 0.1, 0.2], 2);
    /// assert_eq!(error, Err(MetricError::OneClass));
    /// # Ok::<(), MetricError>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// let grades = [0, 1, 2, 0];
    /// let queries = ["a", "a", "b", "b"].map(str::to_owned);
    /// // The relevant item is second in query `a` and first in query `b`.
    /// let score = Metric::Mrr.ranking(&grades, &queries, &[0.9, 0.1, 0.7, 0.2])?;
    /// assert_eq!(score, 0.75);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::mask::Mask;
    /// use tasks::metrics::Metric;
    ///
    /// let truth = Mask::parse("1 4", 4, 4)?;
    /// let predicted = Mask::parse("3 4", 4, 4)?;
    /// assert_eq!(Metric::Dice.masks(&[truth.clone()], &[predicted.clone()])?, 0.5);
    /// assert_eq!(Metric::Iou.masks(&[truth], &[predicted])?, 2.0 / 6.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::boxes::{parse_detections, parse_objects};
    /// use tasks::metrics::Metric;
    ///
    /// let classes = ["cat".to_owned()];
    /// let truth = [parse_objects("cat 0 0 10 10", &classes)?];
    /// // One detection is close enough, one is a false positive with less confidence.
    /// let predicted = [parse_detections("cat 0.9 0 0 10 9 cat 0.5 50 50 10 10", &classes)?];
    /// assert_eq!(Metric::BoxMap50.boxes(&truth, &predicted)?, 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    /// use tasks::metrics::images::ImageFormat;
    ///
    /// let frame = ImageFormat { width: 2, height: 1, levels: 256 };
    /// let (truth, predicted) = ([vec![0, 255]], [vec![0, 250]]);
    /// assert_eq!(Metric::Mae.images(&truth, &predicted, frame)?, 2.5);
    /// // An exact image has 100 dB.
    /// assert_eq!(Metric::Psnr.images(&truth, &truth, frame)?, 100.0);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
    pub fn images(
        self,
        truth: &[Vec<u16>],
        predicted: &[Vec<u16>],
        frame: ImageFormat,
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

impl Metric {
    /// Scores texts.
    ///
    /// # Errors
    /// [`MetricError`] where the metric takes other input.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// let (truth, predicted) = (["a fine day", "rain"], ["a Fine", "rain"]);
    /// assert_eq!(Metric::ExactMatch.texts(&truth, &predicted)?, 0.5);
    /// // Two of three words are shared in the first row.
    /// assert_eq!(Metric::WordJaccard.texts(&truth, &predicted)?, (2.0 / 3.0 + 1.0) / 2.0);
    /// assert_eq!(Metric::MeanEditDistance.texts(&truth, &predicted)?, 2.5);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
    pub fn texts<T: AsRef<str>>(self, truth: &[T], predicted: &[T]) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let of_row: fn(&str, &str) -> f64 = match self {
            Self::ExactMatch => |truth, text| f64::from(u8::from(truth == text)),
            Self::WordJaccard => text::word_jaccard,
            Self::MeanEditDistance => |truth, text| text::levenshtein(truth, text) as f64,
            _ => return Err(MetricError::WrongInput(self)),
        };
        let rows = truth.iter().zip(predicted);
        finite(mean_of(rows.map(|(truth, text)| Ok(of_row(truth.as_ref(), text.as_ref()))))?)
    }

    /// Scores lists of identifiers, the best guess first, given all that are right.
    ///
    /// # Errors
    /// [`MetricError`] where the metric takes other input.
    ///
    /// # Examples
    /// ```rust
    /// use tasks::metrics::Metric;
    ///
    /// let ids = |cell: &str| cell.split(' ').map(str::to_owned).collect::<Vec<_>>();
    /// // The right identifier stands second, and two right ones stand first and third.
    /// let (truth, predicted) = ([ids("a"), ids("b c")], [ids("x a"), ids("c x b")]);
    /// let score = Metric::MapAt5.ids(&truth, &predicted)?;
    /// assert_eq!(score, (0.5 + (1.0 + 2.0 / 3.0) / 2.0) / 2.0);
    /// # Ok::<(), tasks::metrics::MetricError>(())
    /// ```
    pub fn ids(self, truth: &[Vec<String>], predicted: &[Vec<String>]) -> Result<f64, MetricError> {
        check_lengths(truth.len(), predicted.len())?;
        let count = match self {
            Self::MapAt5 => 5,
            Self::MapAt10 => 10,
            _ => return Err(MetricError::WrongInput(self)),
        };
        let rows = truth.iter().zip(predicted);
        finite(mean_of(rows.map(|(truth, ids)| Ok(ranking::precision_of_ids(truth, ids, count))))?)
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
