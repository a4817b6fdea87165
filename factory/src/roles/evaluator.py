#!/usr/bin/env python3
"""Grades a submission to this task; prints one JSON object.

    python evaluator.py submission.csv

Needs numpy, pandas and scikit-learn. Answers and thresholds are read from the task folder
that this file lies in (`--task` names another one).
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import pandas as pd
from sklearn import metrics

SETTINGS = {}
LOWER_IS_BETTER = {
    "log_loss", "brier", "rmse", "mae", "median_ae", "rmsle", "mape", "smape",
}  # fmt: skip


class Invalid(Exception):
    """The submission is not acceptable."""


def read(path, columns):
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot be read: {error}") from error
    if sorted(table.columns) != sorted(columns):
        raise Invalid(f"columns are {list(table.columns)}, expected {columns}")
    return table.map(str.strip)


def numbers(column):
    values = pd.to_numeric(column, errors="coerce").to_numpy(float)
    if not np.isfinite(values).all():
        raise Invalid(f"column {column.name!r} holds something that is not a finite number")
    return values


def probabilities(column):
    values = numbers(column)
    if ((values < 0) | (values > 1)).any():
        raise Invalid(f"column {column.name!r} leaves [0, 1]")
    return values


def labels(column, classes):
    places = {name: place for place, name in enumerate(classes)}
    # A data frame that once held a gap writes 1 as 1.0.
    places.update({f"{name}.0": place for name, place in list(places.items()) if name.isdigit()})
    if not column.isin(places).all():
        raise Invalid(f"column {column.name!r} holds something that is not one of {classes}")
    return column.map(places).to_numpy(int)


def score(truth, submission):
    kind, target, metric = SETTINGS["kind"], SETTINGS["target"], SETTINGS["metric"]
    classes = SETTINGS["classes"] or ["0", "1"]
    if kind == "number":
        y, p = numbers(truth[target]), numbers(submission[target])
        if metric == "smape":
            size = np.abs(y) + np.abs(p)
            gaps = 2 * np.abs(y - p) / np.where(size == 0, 1, size)
            return float(gaps.mean())
        return float({
            "rmse": metrics.root_mean_squared_error,
            "mae": metrics.mean_absolute_error,
            "median_ae": metrics.median_absolute_error,
            "rmsle": lambda y, p: np.sqrt(np.mean((np.log1p(y) - np.log1p(p)) ** 2)),
            "mape": metrics.mean_absolute_percentage_error,
            "r2": metrics.r2_score,
        }[metric](y, p))
    y = labels(truth[target], classes)
    if kind == "probability":
        p = probabilities(submission[target])
        return float({
            "roc_auc": metrics.roc_auc_score,
            "average_precision": metrics.average_precision_score,
            "log_loss": lambda y, p: metrics.log_loss(y, p, labels=[0, 1]),
            "brier": metrics.brier_score_loss,
        }[metric](y, p))
    if kind == "class_probabilities":
        p = np.column_stack([probabilities(submission[name]) for name in classes])
        if (np.abs(p.sum(axis=1) - 1) > 1e-3).any():
            raise Invalid("the class probabilities of a row do not sum to 1")
        p = p / p.sum(axis=1, keepdims=True)
        return float(metrics.log_loss(y, p, labels=range(len(classes))))
    p = labels(submission[target], classes)
    return float({
        "accuracy": metrics.accuracy_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
        "f1": metrics.f1_score,
        "macro_f1": lambda y, p: metrics.f1_score(y, p, average="macro"),
        "mcc": metrics.matthews_corrcoef,
        "quadratic_kappa": lambda y, p: metrics.cohen_kappa_score(y, p, weights="quadratic"),
    }[metric](y, p))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("submission")
    parser.add_argument("--task", default=pathlib.Path(__file__).resolve().parents[1])
    arguments = parser.parse_args()
    private = pathlib.Path(arguments.task) / "prepared" / "private"
    result = json.loads((private / "threshold.json").read_text())
    key, target = SETTINGS["id"], SETTINGS["target"]
    truth = read(private / "answer.csv", [key, target]).set_index(key)
    wanted = SETTINGS["classes"] if SETTINGS["kind"] == "class_probabilities" else [target]
    try:
        submission = read(arguments.submission, [key, *wanted]).set_index(key)
        if submission.index.has_duplicates or set(submission.index) != set(truth.index):
            raise Invalid("the ids are not exactly those of the test set, each once")
        value = score(truth, submission.loc[truth.index])
    except Invalid as error:
        result["score"], result["error"] = None, str(error)
    else:
        result["score"] = value
    result["is_lower_better"] = SETTINGS["metric"] in LOWER_IS_BETTER
    print(json.dumps(result))
    return 0 if result["score"] is not None else 1


if __name__ == "__main__":
    sys.exit(main())
