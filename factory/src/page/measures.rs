//! What metrics are, in words, and the names under which texts mention them.

use tasks::metrics::Metric;
use tasks::prediction::Prediction;

/// What the metric of a prediction is, in words.
pub(super) fn measure_of(metric: Metric, prediction: &Prediction) -> &'static str {
    match (prediction, metric) {
        (Prediction::Ids { .. }, Metric::MapAt5) => {
            "the mean average precision of the first 5 guesses of each row"
        }
        (Prediction::Ids { .. }, Metric::MapAt10) => {
            "the mean average precision of the first 10 guesses of each row"
        }
        _ => measure(metric),
    }
}

/// What a metric is, in words.
pub(crate) fn measure(metric: Metric) -> &'static str {
    match metric {
        Metric::Accuracy => "the share of rows that are exactly right",
        Metric::BalancedAccuracy => "the recall, averaged over the classes",
        Metric::F1 => "the F1 score of class 1",
        Metric::MacroF1 => "the F1 score, averaged over the classes or labels without weights",
        Metric::MicroF1 => "the F1 score of all labels' counts together",
        Metric::WeightedF1 => "the F1 score, averaged over the classes by how often they occur",
        Metric::SamplesF1 => "the F1 score of each row's labels, averaged over the rows",
        Metric::MacroJaccard => "the Jaccard index, averaged over the classes or labels",
        Metric::SamplesJaccard => "the Jaccard index of each row's labels, averaged over the rows",
        Metric::Mcc => "Matthews' correlation coefficient between labels and truth",
        Metric::QuadraticKappa => "Cohen's kappa with quadratic weights",
        Metric::RocAuc => "the area under the ROC curve",
        Metric::OvrAuc => "the area under the ROC curve of each class against the rest, averaged",
        Metric::MeanColumnAuc => "the area under the ROC curve, averaged over the columns",
        Metric::AveragePrecision => "the average precision of class 1",
        Metric::LogLoss => "the logarithmic loss of the probabilities",
        Metric::Brier => "the Brier score, the mean squared error of the probability",
        Metric::Rmse => "the root mean squared error",
        Metric::Mcrmse => "the root mean squared error, averaged over the columns",
        Metric::Mae => "the mean absolute error",
        Metric::MedianAe => "the median absolute error",
        Metric::Rmsle => "the root mean squared difference of log(1 + value)",
        Metric::Mape => "the mean absolute error relative to the true value",
        Metric::Smape => "the symmetric mean absolute percentage error, from 0 to 2",
        Metric::R2 => "the coefficient of determination",
        Metric::Pearson => "Pearson's correlation",
        Metric::Spearman => "Spearman's rank correlation",
        Metric::MapAt5 => "the mean average precision of the first 5 rows of each query",
        Metric::MapAt10 => "the mean average precision of the first 10 rows of each query",
        Metric::NdcgAt5 => "the normalised discounted cumulative gain of each query's first 5 rows",
        Metric::NdcgAt10 => {
            "the normalised discounted cumulative gain of each query's first 10 rows"
        }
        Metric::Mrr => "one over the rank of the first relevant row, averaged over the queries",
        Metric::Dice => "the Dice coefficient of the masks, averaged over the rows",
        Metric::Iou => "the intersection over union of the masks, averaged over the rows",
        Metric::MeanIou => "the share of thresholds that the masks' intersection over union passes",
        Metric::BoxMap50 => "the mean average precision of boxes at intersection over union 0.5",
        Metric::BoxMap50To95 => "the mean average precision of boxes from 0.5 to 0.95",
        Metric::Psnr => "the peak signal-to-noise ratio in decibels, averaged over the images",
        Metric::Ssim => "the structural similarity, averaged over the images",
        Metric::ExactMatch => "the share of rows whose text is right in every character",
        Metric::WordJaccard => {
            "the Jaccard index of the two sets of lower-case words, averaged over the rows"
        }
        Metric::MeanEditDistance => "the edit distance in characters, averaged over the rows",
        Metric::MeanPinballLoss => "the pinball loss, averaged over the three quantiles",
    }
}

/// The names under which texts mention a metric, as lower-case words.
pub(super) fn names(metric: Metric) -> &'static [&'static str] {
    match metric {
        Metric::Accuracy => &["accuracy"],
        Metric::BalancedAccuracy => &["balanced accuracy"],
        Metric::F1 => &["f1 score", "f1"],
        Metric::MacroF1 => &["macro averaged f1", "macro f1", "f1 score", "f1"],
        Metric::MicroF1 => &["micro averaged f1", "micro f1", "f1 score", "f1"],
        Metric::WeightedF1 => &["weighted f1", "f1 score", "f1"],
        Metric::SamplesF1 => &["samples f1", "f1 score", "f1"],
        Metric::MacroJaccard => &["macro jaccard", "jaccard index", "jaccard"],
        Metric::SamplesJaccard => &["samples jaccard", "jaccard index", "jaccard"],
        Metric::Mcc => &["matthews correlation coefficient", "matthews", "mcc"],
        Metric::QuadraticKappa => {
            &["quadratic weighted kappa", "quadratic kappa", "cohen s kappa", "kappa", "qwk"]
        }
        Metric::RocAuc => &["area under the roc curve", "roc auc", "auc", "roc"],
        Metric::OvrAuc => &["area under the roc curve", "ovr auc", "roc auc", "auc", "roc"],
        Metric::MeanColumnAuc => {
            &["mean column auc", "area under the roc curve", "roc auc", "auc", "roc"]
        }
        Metric::AveragePrecision => &["average precision"],
        Metric::LogLoss => &["logarithmic loss", "log loss", "logloss", "cross entropy"],
        Metric::Brier => &["brier score", "brier"],
        Metric::Rmse => &["root mean squared error", "root mean square error", "rmse"],
        Metric::Mcrmse => {
            &["mean columnwise root mean squared error", "root mean squared error", "mcrmse"]
        }
        Metric::Mae => &["mean absolute error", "mae"],
        Metric::MedianAe => &["median absolute error", "median ae"],
        Metric::Rmsle => &["root mean squared logarithmic error", "rmsle"],
        Metric::Mape => &["mean absolute percentage error", "mape"],
        Metric::Smape => &["symmetric mean absolute percentage error", "smape"],
        Metric::R2 => &["coefficient of determination", "r squared", "r2", "r 2"],
        Metric::Pearson => &["pearson correlation", "pearson"],
        Metric::Spearman => &["spearman correlation", "spearman"],
        Metric::MapAt5 => &["map at 5", "map 5", "mean average precision"],
        Metric::MapAt10 => &["map at 10", "map 10", "mean average precision"],
        Metric::NdcgAt5 => &["ndcg at 5", "ndcg 5", "ndcg", "discounted cumulative gain"],
        Metric::NdcgAt10 => &["ndcg at 10", "ndcg 10", "ndcg", "discounted cumulative gain"],
        Metric::Mrr => &["mean reciprocal rank", "mrr"],
        Metric::Dice => &["dice coefficient", "dice score", "dice"],
        Metric::Iou => &["intersection over union", "iou"],
        Metric::MeanIou => {
            &["mean intersection over union", "mean iou", "intersection over union", "iou"]
        }
        Metric::BoxMap50 => &["box map 50", "mean average precision", "intersection over union"],
        Metric::BoxMap50To95 => {
            &["box map 50 95", "mean average precision", "intersection over union"]
        }
        Metric::Psnr => &["peak signal to noise ratio", "psnr"],
        Metric::Ssim => &["structural similarity", "ssim"],
        Metric::ExactMatch => &["exact match"],
        Metric::WordJaccard => &["word jaccard", "jaccard index", "jaccard"],
        Metric::MeanEditDistance => &["mean edit distance", "edit distance", "levenshtein"],
        Metric::MeanPinballLoss => &["mean pinball loss", "pinball loss", "quantile loss"],
    }
}

/// Metrics of others, which no task has.
pub(super) const FOREIGN: [&str; 8] = [
    "mean squared error",
    "mse",
    "hamming loss",
    "word error rate",
    "bleu",
    "rouge",
    "top 5 error",
    "precision at",
];
