//! The names of the metrics, and which way each improves.

use crate::metrics::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How submissions are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of rows whose label, or whose whole set of labels, is exact, [0, 1].
    Accuracy,
    /// Mean recall over the classes that occur, [0, 1].
    BalancedAccuracy,
    /// F1 of class 1, [0, 1].
    F1,
    /// Unweighted mean F1 over classes (seen in truth or prediction) or labels (all), [0, 1].
    MacroF1,
    /// F1 of all classes' or labels' counts together, [0, 1].
    MicroF1,
    /// Mean F1 over classes or labels, weighted by their rows in the truth, [0, 1].
    WeightedF1,
    /// Mean over rows of the F1 of their label sets, [0, 1].
    SamplesF1,
    /// Unweighted mean Jaccard index over classes or labels, [0, 1].
    MacroJaccard,
    /// Mean over rows of the Jaccard index of their label sets, [0, 1].
    SamplesJaccard,
    /// Matthews correlation coefficient, [-1, 1].
    Mcc,
    /// Cohen's kappa with quadratic weights, [-1, 1].
    QuadraticKappa,
    /// Area under the ROC curve, [0, 1].
    RocAuc,
    /// Mean over classes of the area under the ROC curve of class against rest, [0, 1].
    OvrAuc,
    /// Mean over labels of the area under the ROC curve, [0, 1].
    MeanColumnAuc,
    /// Average precision, for several labels its mean over them, [0, 1].
    AveragePrecision,
    /// Cross-entropy: binary, multiclass, or the mean over independent labels, [0, ∞).
    LogLoss,
    /// Mean squared error of the probability of class 1, [0, 1].
    Brier,
    /// Root mean squared error, over all pixels for images, [0, ∞).
    Rmse,
    /// Mean over columns of the root mean squared error, [0, ∞).
    Mcrmse,
    /// Mean absolute error, over all pixels for images, [0, ∞).
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
    /// Mean average precision of the first 5 items of each query, or identifiers of each row, [0, 1].
    #[serde(rename = "map_at_5")]
    MapAt5,
    /// Mean average precision of the first 10 items of each query, or identifiers of each row,
    /// [0, 1].
    #[serde(rename = "map_at_10")]
    MapAt10,
    /// Normalised discounted cumulative gain of the first 5 items of each query, [0, 1].
    #[serde(rename = "ndcg_at_5")]
    NdcgAt5,
    /// Normalised discounted cumulative gain of the first 10 items of each query, [0, 1].
    #[serde(rename = "ndcg_at_10")]
    NdcgAt10,
    /// Mean over queries of 1 / the rank of the first relevant item, [0, 1].
    Mrr,
    /// Mean over rows of the Dice coefficient of two masks, [0, 1].
    Dice,
    /// Mean over rows of intersection over union of two masks, [0, 1].
    Iou,
    /// Mean over rows of the share of thresholds .5, .55, ..., .95 that the masks' intersection
    /// over union passes, [0, 1].
    MeanIou,
    /// Mean average precision of boxes at intersection over union .5, [0, 1].
    #[serde(rename = "box_map_50")]
    BoxMap50,
    /// Mean average precision of boxes, averaged over the thresholds .5, .55, ..., .95, [0, 1].
    #[serde(rename = "box_map_50_95")]
    BoxMap50To95,
    /// Mean over images of the peak signal-to-noise ratio in dB, [0, 100].
    Psnr,
    /// Mean over images of the structural similarity, [-1, 1].
    Ssim,
    /// Share of rows whose text is the same, character by character, [0, 1].
    ExactMatch,
    /// Mean over rows of the Jaccard index of the texts' sets of words, [0, 1].
    WordJaccard,
    /// Mean over rows of the edit distance of two texts in characters, [0, ∞).
    MeanEditDistance,
    /// Mean over rows and over the quantiles of the pinball loss, [0, ∞).
    MeanPinballLoss,
}

impl Metric {
    /// All metrics, in declaration order.
    pub const ALL: [Self; 43] = [
        Self::Accuracy,
        Self::BalancedAccuracy,
        Self::F1,
        Self::MacroF1,
        Self::MicroF1,
        Self::WeightedF1,
        Self::SamplesF1,
        Self::MacroJaccard,
        Self::SamplesJaccard,
        Self::Mcc,
        Self::QuadraticKappa,
        Self::RocAuc,
        Self::OvrAuc,
        Self::MeanColumnAuc,
        Self::AveragePrecision,
        Self::LogLoss,
        Self::Brier,
        Self::Rmse,
        Self::Mcrmse,
        Self::Mae,
        Self::MedianAe,
        Self::Rmsle,
        Self::Mape,
        Self::Smape,
        Self::R2,
        Self::Pearson,
        Self::Spearman,
        Self::MapAt5,
        Self::MapAt10,
        Self::NdcgAt5,
        Self::NdcgAt10,
        Self::Mrr,
        Self::Dice,
        Self::Iou,
        Self::MeanIou,
        Self::BoxMap50,
        Self::BoxMap50To95,
        Self::Psnr,
        Self::Ssim,
        Self::ExactMatch,
        Self::WordJaccard,
        Self::MeanEditDistance,
        Self::MeanPinballLoss,
    ];

    /// Which way it improves.
    pub fn direction(self) -> Direction {
        match self {
            Self::LogLoss
            | Self::Brier
            | Self::Rmse
            | Self::Mcrmse
            | Self::Mae
            | Self::MedianAe
            | Self::Rmsle
            | Self::Mape
            | Self::Smape
            | Self::MeanEditDistance
            | Self::MeanPinballLoss => Direction::LowerIsBetter,
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
            Self::MicroF1 => "micro_f1",
            Self::WeightedF1 => "weighted_f1",
            Self::SamplesF1 => "samples_f1",
            Self::MacroJaccard => "macro_jaccard",
            Self::SamplesJaccard => "samples_jaccard",
            Self::Mcc => "mcc",
            Self::QuadraticKappa => "quadratic_kappa",
            Self::RocAuc => "roc_auc",
            Self::OvrAuc => "ovr_auc",
            Self::MeanColumnAuc => "mean_column_auc",
            Self::AveragePrecision => "average_precision",
            Self::LogLoss => "log_loss",
            Self::Brier => "brier",
            Self::Rmse => "rmse",
            Self::Mcrmse => "mcrmse",
            Self::Mae => "mae",
            Self::MedianAe => "median_ae",
            Self::Rmsle => "rmsle",
            Self::Mape => "mape",
            Self::Smape => "smape",
            Self::R2 => "r2",
            Self::Pearson => "pearson",
            Self::Spearman => "spearman",
            Self::MapAt5 => "map_at_5",
            Self::MapAt10 => "map_at_10",
            Self::NdcgAt5 => "ndcg_at_5",
            Self::NdcgAt10 => "ndcg_at_10",
            Self::Mrr => "mrr",
            Self::Dice => "dice",
            Self::Iou => "iou",
            Self::MeanIou => "mean_iou",
            Self::BoxMap50 => "box_map_50",
            Self::BoxMap50To95 => "box_map_50_95",
            Self::Psnr => "psnr",
            Self::Ssim => "ssim",
            Self::ExactMatch => "exact_match",
            Self::WordJaccard => "word_jaccard",
            Self::MeanEditDistance => "mean_edit_distance",
            Self::MeanPinballLoss => "mean_pinball_loss",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
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
