"""Scores cases with scikit-learn, SciPy and plain NumPy, one JSON object per line on both sides.

In:  {"metric": name, "prediction": {"kind": ..., ...}, "truth": [[cell, ...], ...],
      "predicted": [[cell, ...], ...]}
Out: a number, or null where the reference has no finite value.
"""

import collections
import json
import math
import sys
import warnings

import numpy as np
from scipy import ndimage, stats
from sklearn import metrics

warnings.simplefilter("ignore")


def smape(truth, predicted):
    # No scikit-learn counterpart: the definition of the M4 competition, without the factor 100.
    scale = np.abs(truth) + np.abs(predicted)
    return np.mean(np.where(scale == 0, 0.0, 2 * np.abs(truth - predicted) / np.where(scale == 0, 1, scale)))


REGRESSION = {
    "rmse": metrics.root_mean_squared_error,
    "mcrmse": metrics.root_mean_squared_error,
    "mae": metrics.mean_absolute_error,
    "median_ae": metrics.median_absolute_error,
    "rmsle": metrics.root_mean_squared_log_error,
    "mape": metrics.mean_absolute_percentage_error,
    "smape": smape,
    "r2": metrics.r2_score,
    "pearson": lambda t, p: np.mean(stats.pearsonr(t, p).statistic),
    "spearman": lambda t, p: np.mean(
        [stats.spearmanr(t[:, j], p[:, j]).statistic for j in range(t.shape[1])]
        if t.ndim == 2
        else stats.spearmanr(t, p).statistic
    ),
}
LABELS = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "f1": lambda t, p: metrics.f1_score(t, p, labels=[1], average="macro", zero_division=0),
    "macro_f1": lambda t, p: metrics.f1_score(t, p, average="macro", zero_division=0),
    "micro_f1": lambda t, p: metrics.f1_score(t, p, average="micro", zero_division=0),
    "weighted_f1": lambda t, p: metrics.f1_score(t, p, average="weighted", zero_division=0),
    "samples_f1": lambda t, p: metrics.f1_score(t, p, average="samples", zero_division=0),
    "macro_jaccard": lambda t, p: metrics.jaccard_score(t, p, average="macro", zero_division=0),
    "samples_jaccard": lambda t, p: metrics.jaccard_score(t, p, average="samples", zero_division=0),
    "mcc": metrics.matthews_corrcoef,
    "quadratic_kappa": lambda t, p: metrics.cohen_kappa_score(
        t, p, weights="quadratic", labels=list(range(int(max(t.max(), p.max())) + 1))
    ),
}
PROBABILITY = {
    "roc_auc": metrics.roc_auc_score,
    "average_precision": metrics.average_precision_score,
    "log_loss": lambda t, p: metrics.log_loss(t, p, labels=[0, 1]),
    "brier": metrics.brier_score_loss,
}
PROBABILITIES = {
    "mean_column_auc": metrics.roc_auc_score,
    "average_precision": metrics.average_precision_score,
    "log_loss": lambda t, p: np.mean(
        [metrics.log_loss(t[:, j], p[:, j], labels=[0, 1]) for j in range(t.shape[1])]
    ),
}


def ovr_auc(truth, predicted):
    classes = predicted.shape[1]
    if classes == 2:  # which scikit-learn takes for a binary problem
        return np.mean([metrics.roc_auc_score(truth == c, predicted[:, c]) for c in (0, 1)])
    if len(set(truth)) < classes:
        return math.nan
    return metrics.roc_auc_score(truth, predicted, multi_class="ovr", labels=list(range(classes)))


def ranked(grades, scores):
    return [grades[i] for i in sorted(range(len(scores)), key=lambda i: -scores[i])]


def average_precision_at(k, grades, scores):
    relevant = sum(grade > 0 for grade in grades)
    found = [grade > 0 for grade in ranked(grades, scores)[:k]]
    sums = [sum(found[: i + 1]) / (i + 1) for i in range(len(found)) if found[i]]
    return sum(sums) / min(relevant, k) if relevant else 0.0


def ndcg_at(k, grades, scores):
    if len(grades) == 1:  # which scikit-learn refuses
        return float(grades[0] > 0)
    return metrics.ndcg_score([grades], [scores], k=k)


def reciprocal_rank(grades, scores):
    places = [i for i, grade in enumerate(ranked(grades, scores)) if grade > 0]
    return 1 / (places[0] + 1) if places else 0.0


RANKING = {
    "map_at_5": lambda g, s: average_precision_at(5, g, s),
    "map_at_10": lambda g, s: average_precision_at(10, g, s),
    "ndcg_at_5": lambda g, s: ndcg_at(5, g, s),
    "ndcg_at_10": lambda g, s: ndcg_at(10, g, s),
    "mrr": reciprocal_rank,
}


def decode(cell, width, height):
    """A boolean image [height, width] from a run-length encoding that runs down the columns."""
    flat = np.zeros(width * height, bool)
    numbers = [int(word) for word in cell.split()]
    for start, length in zip(numbers[::2], numbers[1::2], strict=True):
        flat[start - 1 : start - 1 + length] = True
    return flat.reshape(width, height).T


def mask_score(metric, truth, predicted):
    shared, union = (truth & predicted).sum(), (truth | predicted).sum()
    if union == 0:
        return 1.0
    if metric == "dice":
        return 2 * shared / (truth.sum() + predicted.sum())
    if metric == "iou":
        return shared / union
    # Whole numbers, so that no rounding decides at an exact threshold.
    return sum(100 * int(shared) > t * int(union) for t in range(50, 100, 5)) / 10


def iou(a, b):
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    tall = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(wide, 0) * max(tall, 0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def coco_average_precision(truth, predicted, name, threshold):
    """COCO's evaluateImg and accumulate for one class, all areas."""
    scores, hits, total = [], [], 0
    for objects, detections in zip(truth, predicted, strict=True):
        objects = [place for label, place in objects if label == name]
        detections = [(s, place) for label, s, place in detections if label == name]
        detections.sort(key=lambda detection: -detection[0])
        total += len(objects)
        taken = [False] * len(objects)
        for confidence, place in detections:
            best, match = min(threshold, 1 - 1e-10), -1
            for index, other in enumerate(objects):
                overlap = iou(place, other)
                if taken[index] or overlap < best:
                    continue
                best, match = overlap, index
            if match >= 0:
                taken[match] = True
            scores.append(confidence)
            hits.append(match >= 0)
    order = np.argsort(-np.array(scores), kind="mergesort")
    hits = np.array(hits, bool)[order]
    found, false = np.cumsum(hits), np.cumsum(~hits)
    recall, precision = found / total, found / (found + false + np.spacing(1))
    precision = np.maximum.accumulate(precision[::-1])[::-1]
    places = np.searchsorted(recall, np.linspace(0, 1, 101), side="left")
    return np.mean([precision[place] if place < len(precision) else 0.0 for place in places])


def box_score(metric, truth, predicted):
    names = sorted({name for row in truth for name, _ in row})
    thresholds = [0.5] if metric == "box_map_50" else np.linspace(0.5, 0.95, 10)
    return np.mean([coco_average_precision(truth, predicted, name, t) for name in names for t in thresholds])


def objects(cell):
    words = cell.split()
    return [(words[i], [float(w) for w in words[i + 1 : i + 5]]) for i in range(0, len(words), 5)]


def detections(cell):
    words = cell.split()
    return [
        (words[i], float(words[i + 1]), [float(w) for w in words[i + 2 : i + 6]])
        for i in range(0, len(words), 6)
    ]


def psnr(truth, predicted, largest):
    error = np.mean((truth - predicted) ** 2)
    return min(100.0, 10 * np.log10(largest**2 / error)) if error else 100.0


def ssim(truth, predicted, largest, size=7):
    """scikit-image's structural_similarity with its defaults."""
    if min(truth.shape) < size:
        raise ValueError("no window fits")

    def mean(image):
        return ndimage.uniform_filter(image, size=size)

    unbias = size**2 / (size**2 - 1)
    mt, mp = mean(truth), mean(predicted)
    vt = unbias * (mean(truth * truth) - mt * mt)
    vp = unbias * (mean(predicted * predicted) - mp * mp)
    both = unbias * (mean(truth * predicted) - mt * mp)
    c1, c2 = (0.01 * largest) ** 2, (0.03 * largest) ** 2
    index = ((2 * mt * mp + c1) * (2 * both + c2)) / ((mt**2 + mp**2 + c1) * (vt + vp + c2))
    edge = (size - 1) // 2
    return index[edge:-edge, edge:-edge].mean()


def image_score(metric, truth, predicted, largest):
    if metric in REGRESSION:
        return REGRESSION[metric](truth.ravel(), predicted.ravel())
    measure = {"psnr": psnr, "ssim": ssim}[metric]
    return np.mean([measure(t, p, largest) for t, p in zip(truth, predicted, strict=True)])


def numbers(rows):
    return np.array(rows, float)


def first(rows):
    return [row[0] for row in rows]


def places(cells, names):
    return np.array([names.index(cell) for cell in cells])


def flags(cells, names):
    return np.array([[int(name in cell.split()) for name in names] for cell in cells])


def edits(a, b):
    """Levenshtein's distance, one row of the table after the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
    return row[-1]


def text_score(metric, truth, predicted):
    truth, predicted = truth.strip(), predicted.strip()
    if metric == "exact_match":
        return float(truth == predicted)
    if metric == "mean_edit_distance":
        return edits(truth, predicted)
    t, p = set(truth.lower().split()), set(predicted.lower().split())
    return len(t & p) / len(t | p) if t | p else 1.0


def ids_score(metric, truth, predicted):
    k = {"map_at_5": 5, "map_at_10": 10}[metric]
    found = [word in truth.split() for word in predicted.split()[:k]]
    sums = [sum(found[: i + 1]) / (i + 1) for i in range(len(found)) if found[i]]
    return sum(sums) / min(len(truth.split()), k)


def evaluate(metric, prediction, truth, predicted):
    kind = prediction["kind"]
    if kind == "number":
        return REGRESSION[metric](numbers(truth)[:, 0], numbers(predicted)[:, 0])
    if kind == "numbers":
        return REGRESSION[metric](numbers(truth), numbers(predicted))
    if kind == "quantiles":
        t, p = numbers(truth)[:, 0], numbers(predicted)
        return np.mean(
            [metrics.mean_pinball_loss(t, p[:, at], alpha=alpha) for at, alpha in enumerate((0.1, 0.5, 0.9))]
        )
    if kind == "probability":
        return PROBABILITY[metric](numbers(truth)[:, 0].astype(int), numbers(predicted)[:, 0])
    if kind == "probabilities":
        return PROBABILITIES[metric](numbers(truth).astype(int), numbers(predicted))
    if kind == "label":
        names = prediction["classes"]
        return LABELS[metric](places(first(truth), names), places(first(predicted), names))
    if kind == "flags":
        names = prediction["labels"]
        return LABELS[metric](flags(first(truth), names), flags(first(predicted), names))
    if kind == "class_probabilities":
        names, p = prediction["classes"], numbers(predicted)
        t = places(first(truth), names)
        if metric == "ovr_auc":
            return ovr_auc(t, p)
        return metrics.log_loss(t, p / p.sum(axis=1, keepdims=True), labels=list(range(len(names))))
    if kind == "relevance":
        queries = collections.defaultdict(list)
        for (grade, query), (score,) in zip(truth, predicted, strict=True):
            queries[query].append((int(grade), float(score)))
        return np.mean([RANKING[metric](*zip(*rows, strict=True)) for rows in queries.values()])
    if kind == "mask":
        size = prediction["width"], prediction["height"]
        return np.mean(
            [
                mask_score(metric, decode(t, *size), decode(p, *size))
                for t, p in zip(first(truth), first(predicted), strict=True)
            ]
        )
    if kind == "boxes":
        return box_score(
            metric, [objects(cell) for cell in first(truth)], [detections(cell) for cell in first(predicted)]
        )
    if kind in ("text", "ids"):
        measure = {"text": text_score, "ids": ids_score}[kind]
        return np.mean([measure(metric, t, p) for t, p in zip(first(truth), first(predicted), strict=True)])
    shape = -1, prediction["height"], prediction["width"]
    image = [
        np.array([cell.split() for cell in first(side)], float).reshape(shape) for side in (truth, predicted)
    ]
    return image_score(metric, *image, prediction["levels"] - 1)


def score(case):
    try:
        value = evaluate(case["metric"], case["prediction"], case["truth"], case["predicted"])
    except ValueError:
        return None
    return float(value) if math.isfinite(value) else None


for line in sys.stdin:
    print(json.dumps(score(json.loads(line))))
