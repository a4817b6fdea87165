#!/usr/bin/env python3
"""Grades a submission to this task; prints one JSON object.

    python evaluator.py submission.csv

Needs numpy, pandas and scikit-learn. Answers and thresholds are read from the task folder
that this file lies in (`--task` names another one).
"""

import argparse
import json
import math
import pathlib
import sys
import unicodedata

import numpy as np
import pandas as pd
from sklearn import metrics

SETTINGS = {}
LOWER_IS_BETTER = {
    "log_loss", "brier", "rmse", "mcrmse", "mae", "median_ae", "rmsle", "mape", "smape",
    "mean_edit_distance", "mean_pinball_loss",
}  # fmt: skip
MAX_BOXES = 100
# What Unicode calls white space; Python strips some control characters besides.
BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
MOST_TEXT = 1024


class Invalid(Exception):
    """The submission is not acceptable."""


# --- Cells: from text to arrays, refusing what is not well formed -----------------------------


def read(path, columns):
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot be read: {error}") from error
    if sorted(table.columns) != sorted(columns):
        raise Invalid(f"columns are {list(table.columns)}, expected {columns}")
    return table.map(lambda cell: cell.strip(BLANKS))


def number(word, low=-math.inf, high=math.inf):
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or not low <= value <= high:
        raise Invalid(f"{word!r} is not a finite number from {low} to {high}")
    return value


def whole(word, low, high=math.inf):
    if not (word.isascii() and word.isdigit() and low <= int(word) <= high):
        raise Invalid(f"{word!r} is not a whole number from {low} to {high}")
    return int(word)


def numbers(columns, **limits):
    """[rows, columns]"""
    return np.array([[number(cell, **limits) for cell in row] for row in columns.to_numpy()])


def labels(column, classes):
    places = {name: place for place, name in enumerate(classes)}
    # A data frame that once held a gap writes 1 as 1.0.
    places.update({f"{name}.0": place for place, name in enumerate(classes) if name.isdigit()})
    if not column.isin(places).all():
        raise Invalid(f"column {column.name!r} holds something that is not one of {classes}")
    return column.map(places).to_numpy(int)


def flags(cell, names):
    held = cell.split()
    if len(set(held)) < len(held) or not set(held) <= set(names):
        raise Invalid(f"{cell!r} is not a list of different labels among {names}")
    return [int(name in held) for name in names]


def mask(cell, width, height):
    """One boolean per pixel, down the columns."""
    words = [whole(word, 1, width * height) for word in cell.split()]
    if len(words) % 2:
        raise Invalid("a mask's last start has no length")
    pixels, end = np.zeros(width * height, bool), 1
    for start, length in zip(words[::2], words[1::2]):
        if start < end or start + length - 1 > width * height:
            raise Invalid(f"a mask's run at {start} overlaps the one before or leaves the image")
        end = start + length
        pixels[start - 1 : end - 1] = True
    return pixels


def boxes(cell, classes, with_confidence):
    """(class, confidence, x, y, w, h) each; a true box has confidence 1."""
    words, size = cell.split(), 6 if with_confidence else 5
    if len(words) % size or len(words) > size * MAX_BOXES:
        raise Invalid(f"a list of boxes has {len(words)} words")
    found = []
    for at in range(0, len(words), size):
        if words[at] not in classes:
            raise Invalid(f"a box has the class {words[at]!r}, not one of {classes}")
        confidence = number(words[at + 1], 0, 1) if with_confidence else 1.0
        x, y = (number(word, -1e6, 1e6) for word in words[at + size - 4 : at + size - 2])
        w, h = (number(word, 1e-6, 1e6) for word in words[at + size - 2 : at + size])
        found.append((words[at], confidence, x, y, w, h))
    return found


def image(cell, width, height, levels):
    """[height, width]"""
    words = [whole(word, 0, levels - 1) for word in cell.split()]
    if len(words) != width * height:
        raise Invalid(f"an image has {len(words)} numbers, not {width} x {height}")
    return np.array(words, float).reshape(height, width)


def text(cell):
    if len(cell.encode()) > MOST_TEXT or any(unicodedata.category(c) == "Cc" for c in cell):
        raise Invalid(f"a text has more than {MOST_TEXT} bytes or a control character")
    return cell


def ids(cell, least, most):
    words = text_words(cell)
    if not least <= len(words) <= most or len(set(words)) < len(words):
        raise Invalid(f"{cell!r} is not a list of {least} to {most} different identifiers")
    return words


def text_words(cell):
    if any(unicodedata.category(c) == "Cc" for c in cell):
        raise Invalid(f"{cell!r} has a control character")
    return cell.split()


# --- Metrics that scikit-learn does not have --------------------------------------------------


def smape(y, p):
    size = np.abs(y) + np.abs(p)
    return np.mean(2 * np.abs(y - p) / np.where(size == 0, 1, size))


def correlation(y, p):
    y, p = y - y.mean(), p - p.mean()
    return np.clip(np.sum(y / np.linalg.norm(y) * (p / np.linalg.norm(p))), -1, 1)


def ranks(values):
    return pd.Series(values).rank().to_numpy()


def found(grades, scores):
    """Whether each item is relevant, from the highest score, ties in the order of the answers."""
    return grades[np.argsort(-scores, kind="stable")] > 0


def average_precision_at(k, grades, scores):
    hits = found(grades, scores)[:k]
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return precision[hits].sum() / max(1, min(k, (grades > 0).sum()))


def ndcg_at(k, grades, scores):
    if len(grades) == 1:
        return float(grades[0] > 0)
    return metrics.ndcg_score([grades], [scores], k=k)


def reciprocal_rank(grades, scores):
    hits = found(grades, scores)
    return 1 / (hits.argmax() + 1) if hits.any() else 0.0


def overlap(metric, y, p):
    shared, union = int((y & p).sum()), int((y | p).sum())
    if union == 0:
        return 1.0
    if metric == "dice":
        return 2 * shared / (shared + union)
    if metric == "iou":
        return shared / union
    return sum(100 * shared > t * union for t in range(50, 100, 5)) / 10


def iou(a, b):
    (ax, ay, aw, ah), (bx, by, bw, bh) = a[2:], b[2:]
    wide = max(0.0, min(ax + aw, bx + bw) - max(ax, bx))
    tall = max(0.0, min(ay + ah, by + bh) - max(ay, by))
    return wide * tall / (aw * ah + bw * bh - wide * tall)


def box_precision(truth, predicted, threshold):
    """COCO's average precision of one class; both sides hold the boxes of each row."""
    outcomes = []
    for free, detections in zip(map(list, truth), predicted):
        for detection in sorted(detections, key=lambda box: -box[1]):
            overlaps = [iou(detection, box) for box in free]
            best = max(overlaps, default=0.0)
            if best >= threshold:
                last = max(at for at, value in enumerate(overlaps) if value == best)
                del free[last]
            outcomes.append((detection[1], best >= threshold))
    if not outcomes:
        return 0.0
    outcomes.sort(key=lambda outcome: -outcome[0])
    hits = np.cumsum([hit for _, hit in outcomes])
    precision = np.maximum.accumulate((hits / np.arange(1, len(hits) + 1))[::-1])[::-1]
    recall = hits / sum(map(len, truth))
    at = np.searchsorted(recall, np.linspace(0, 1, 101))
    return np.append(precision, 0.0)[at].mean()


def box_map(truth, predicted, thresholds):
    def only(rows, name):
        return [[box for box in row if box[0] == name] for row in rows]

    names = sorted({box[0] for row in truth for box in row})
    if not names:
        raise Invalid("the answers hold no object")
    return np.mean([
        box_precision(only(truth, name), only(predicted, name), t)
        for name in names for t in thresholds
    ])  # fmt: skip


def psnr(y, p, largest):
    error = np.mean((y - p) ** 2)
    return min(100.0, 10 * np.log10(largest**2 / error)) if error else 100.0


def ssim(y, p, largest, size=7):
    if min(y.shape) < size:
        raise Invalid(f"the images are smaller than {size} x {size} pixels")
    y, p = (np.lib.stride_tricks.sliding_window_view(side, (size, size)) for side in (y, p))
    (my, mp), n = (side.mean(axis=(2, 3)) for side in (y, p)), size * size
    dy, dp = y - my[:, :, None, None], p - mp[:, :, None, None]
    vy, vp, both = ((a * b).sum(axis=(2, 3)) / (n - 1) for a, b in ((dy, dy), (dp, dp), (dy, dp)))
    c1, c2 = (0.01 * largest) ** 2, (0.03 * largest) ** 2
    return np.mean((2 * my * mp + c1) * (2 * both + c2) / ((my**2 + mp**2 + c1) * (vy + vp + c2)))


def word_jaccard(y, p):
    y, p = set(y.lower().split()), set(p.lower().split())
    return len(y & p) / len(y | p) if y | p else 1.0


def edit_distance(y, p):
    costs = np.arange(len(p) + 1)
    right = np.array(list(map(ord, p)), int)
    for at, character in enumerate(map(ord, y)):
        either = np.minimum(costs[1:] + 1, costs[:-1] + (right != character))
        costs = np.append(at + 1, either)
        # An insertion after another costs one more each.
        costs = np.minimum.accumulate(costs - np.arange(len(costs))) + np.arange(len(costs))
    return costs[-1]


def precision_of_ids(k, y, p):
    hits = np.isin(p[:k], y)
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return precision[hits].sum() / min(k, len(y))


# --- One function per kind of prediction: the truth and the submission, aligned ----------------

REGRESSION = {
    "rmse": metrics.root_mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "median_ae": metrics.median_absolute_error,
    "rmsle": lambda y, p: np.sqrt(np.mean((np.log1p(y) - np.log1p(p)) ** 2)),
    "mape": metrics.mean_absolute_percentage_error,
    "smape": smape,
    "r2": metrics.r2_score,
    "pearson": correlation,
    "spearman": lambda y, p: correlation(ranks(y), ranks(p)),
}


def f1(average):
    return lambda y, p: metrics.f1_score(y, p, average=average, zero_division=0)


def jaccard(average):
    return lambda y, p: metrics.jaccard_score(y, p, average=average, zero_division=0)


LABELS = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1": lambda y, p: metrics.f1_score(y, p, labels=[1], average="macro", zero_division=0),
    "macro_f1": f1("macro"),
    "micro_f1": f1("micro"),
    "weighted_f1": f1("weighted"),
    "samples_f1": f1("samples"),
    "macro_jaccard": jaccard("macro"),
    "samples_jaccard": jaccard("samples"),
    "mcc": metrics.matthews_corrcoef,
    "quadratic_kappa": lambda y, p: metrics.cohen_kappa_score(
        y, p, weights="quadratic", labels=list(range(max(y.max(), p.max()) + 1))
    ),
}
PROBABILITY = {
    "roc_auc": metrics.roc_auc_score,
    "average_precision": metrics.average_precision_score,
    "log_loss": lambda y, p: metrics.log_loss(y, p, labels=[0, 1]),
    "brier": metrics.brier_score_loss,
}
RANKING = {
    "map_at_5": lambda g, s: average_precision_at(5, g, s),
    "map_at_10": lambda g, s: average_precision_at(10, g, s),
    "ndcg_at_5": lambda g, s: ndcg_at(5, g, s),
    "ndcg_at_10": lambda g, s: ndcg_at(10, g, s),
    "mrr": reciprocal_rank,
}


def columns_mean(measure, y, p):
    return np.mean([measure(y[:, at], p[:, at]) for at in range(y.shape[1])])


def score_numbers(metric, form, truth, submission):
    measure = REGRESSION["rmse" if metric == "mcrmse" else metric]
    return columns_mean(measure, numbers(truth), numbers(submission))


def score_probabilities(metric, form, truth, submission):
    y = np.column_stack([labels(truth[name], ["0", "1"]) for name in truth])
    measure = PROBABILITY["roc_auc" if metric == "mean_column_auc" else metric]
    return columns_mean(measure, y, numbers(submission, low=0, high=1))


def score_label(metric, form, truth, submission):
    column, classes = form["column"], form["classes"]
    return LABELS[metric](labels(truth[column], classes), labels(submission[column], classes))


def score_class_probabilities(metric, form, truth, submission):
    classes = form["classes"]
    y = labels(truth[form["column"]], classes)
    p = numbers(submission, low=0, high=1)
    if (np.abs(p.sum(axis=1) - 1) > 1e-3).any():
        raise Invalid("the class probabilities of a row do not sum to 1")
    if metric == "ovr_auc":
        return np.mean([metrics.roc_auc_score(y == at, p[:, at]) for at in range(len(classes))])
    return metrics.log_loss(y, p / p.sum(axis=1, keepdims=True), labels=range(len(classes)))


def score_flags(metric, form, truth, submission):
    y, p = (
        np.array([flags(cell, form["labels"]) for cell in side[form["column"]]])
        for side in (truth, submission)
    )
    return LABELS[metric](y, p)


def score_quantiles(metric, form, truth, submission):
    y, p = numbers(truth)[:, 0], numbers(submission)
    losses = [
        metrics.mean_pinball_loss(y, p[:, at], alpha=alpha) for at, alpha in enumerate((0.1, 0.5, 0.9))
    ]
    return np.mean(losses)


def score_relevance(metric, form, truth, submission):
    scores = numbers(submission)[:, 0]
    grades = np.array([whole(cell, 0) for cell in truth[form["column"]]])
    queries = truth[form["query"]].to_numpy()
    groups = [queries == query for query in np.unique(queries)]
    return np.mean([RANKING[metric](grades[rows], scores[rows]) for rows in groups])


def score_mask(metric, form, truth, submission):
    y, p = (
        [mask(cell, form["width"], form["height"]) for cell in side[form["column"]]]
        for side in (truth, submission)
    )
    return np.mean([overlap(metric, a, b) for a, b in zip(y, p)])


def score_boxes(metric, form, truth, submission):
    y, p = (
        [boxes(cell, form["classes"], with_confidence) for cell in side[form["column"]]]
        for side, with_confidence in ((truth, False), (submission, True))
    )
    return box_map(y, p, [0.5] if metric == "box_map_50" else np.linspace(0.5, 0.95, 10))


def score_pixels(metric, form, truth, submission):
    y, p = (
        [image(cell, form["width"], form["height"], form["levels"]) for cell in side[form["column"]]]
        for side in (truth, submission)
    )
    if metric in REGRESSION:
        return REGRESSION[metric](np.ravel(y), np.ravel(p))
    measure = {"psnr": psnr, "ssim": ssim}[metric]
    return np.mean([measure(a, b, form["levels"] - 1) for a, b in zip(y, p)])


TEXTS = {
    "exact_match": lambda y, p: float(y == p),
    "word_jaccard": word_jaccard,
    "mean_edit_distance": edit_distance,
}


def score_text(metric, form, truth, submission):
    y, p = ([text(cell) for cell in side[form["column"]]] for side in (truth, submission))
    return np.mean([TEXTS[metric](a, b) for a, b in zip(y, p)])


def score_ids(metric, form, truth, submission):
    column, k = form["column"], {"map_at_5": 5, "map_at_10": 10}[metric]
    y = [ids(cell, 1, math.inf) for cell in truth[column]]
    p = [ids(cell, 0, form["most"]) for cell in submission[column]]
    return np.mean([precision_of_ids(k, a, b) for a, b in zip(y, p)])


SCORE = {
    "number": score_numbers,
    "numbers": score_numbers,
    "probability": score_probabilities,
    "probabilities": score_probabilities,
    "label": score_label,
    "class_probabilities": score_class_probabilities,
    "flags": score_flags,
    "quantiles": score_quantiles,
    "relevance": score_relevance,
    "mask": score_mask,
    "boxes": score_boxes,
    "pixels": score_pixels,
    "text": score_text,
    "ids": score_ids,
}


def score(truth, submission):
    form = SETTINGS["prediction"]
    try:
        value = float(SCORE[form["kind"]](SETTINGS["metric"], form, truth, submission))
    except ValueError as error:
        raise Invalid(f"the metric is undefined: {error}") from error
    if not math.isfinite(value):
        raise Invalid("the metric is undefined")
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("submission")
    parser.add_argument("--task", default=pathlib.Path(__file__).resolve().parents[1])
    arguments = parser.parse_args()
    private = pathlib.Path(arguments.task) / "prepared" / "private"
    result = json.loads((private / "threshold.json").read_text())
    key, columns = SETTINGS["id"], SETTINGS["columns"]
    truth = read(private / "answer.csv", [key, *SETTINGS["answer_columns"]]).set_index(key)
    try:
        submission = read(arguments.submission, [key, *columns]).set_index(key)
        if submission.index.has_duplicates or set(submission.index) != set(truth.index):
            raise Invalid("the ids are not exactly those of the test set, each once")
        value = score(truth[SETTINGS["answer_columns"]], submission.loc[truth.index, columns])
    except Invalid as error:
        result["score"], result["error"] = None, str(error)
    else:
        result["score"] = value
    result["is_lower_better"] = SETTINGS["metric"] in LOWER_IS_BETTER
    print(json.dumps(result))
    return 0 if result["score"] is not None else 1


if __name__ == "__main__":
    sys.exit(main())
