"""Scores cases with scikit-learn and SciPy, one JSON object per line on both sides.

In:  {"metric": name, "truth": [...], "predicted": [...], "classes": k or null}
Out: a number, or null where the reference has no finite value.
"""
import json
import math
import sys
import warnings

import numpy as np
from scipy import stats
from sklearn import metrics

warnings.simplefilter("ignore")


def smape(truth, predicted):
    # No scikit-learn counterpart: the definition of the M4 competition, without the factor 100.
    scale = np.abs(truth) + np.abs(predicted)
    return np.mean(np.where(scale == 0, 0.0, 2 * np.abs(truth - predicted) / np.where(scale == 0, 1, scale)))


METRICS = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1": lambda t, p: metrics.f1_score(t, p, labels=[1], average="macro", zero_division=0),
    "macro_f1": lambda t, p: metrics.f1_score(t, p, average="macro", zero_division=0),
    "mcc": metrics.matthews_corrcoef,
    "quadratic_kappa": lambda t, p: metrics.cohen_kappa_score(
        t, p, weights="quadratic", labels=list(range(int(max(t.max(), p.max())) + 1))),
    "roc_auc": metrics.roc_auc_score,
    "average_precision": metrics.average_precision_score,
    "log_loss": lambda t, p: metrics.log_loss(t, p, labels=[0, 1]),
    "brier": metrics.brier_score_loss,
    "rmse": metrics.root_mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "median_ae": metrics.median_absolute_error,
    "rmsle": metrics.root_mean_squared_log_error,
    "mape": metrics.mean_absolute_percentage_error,
    "smape": smape,
    "r2": metrics.r2_score,
    "pearson": lambda t, p: stats.pearsonr(t, p).statistic,
    "spearman": lambda t, p: stats.spearmanr(t, p).statistic,
}


def score(case):
    truth, predicted = np.array(case["truth"]), np.array(case["predicted"])
    classes = case["classes"]
    try:
        if classes is not None:
            predicted = predicted.reshape(-1, classes)
            predicted = predicted / predicted.sum(axis=1, keepdims=True)
            value = metrics.log_loss(truth, predicted, labels=list(range(classes)))
        else:
            value = METRICS[case["metric"]](truth, predicted)
    except ValueError:
        return None
    return float(value) if math.isfinite(value) else None


for line in sys.stdin:
    print(json.dumps(score(json.loads(line))))
