"""Scores submissions by what pages say of their metrics, one JSON object per line on both sides.

Every function below is written from a text of `factory/src/page/definitions.toml` and from nothing
else: it imports no library of metrics and no code of this project. `WRITTEN_FROM` holds a digest of
each text. If a text changes, this program fails until somebody has read the function again.

In:  {"text": the page's text, "prediction": {"kind": ..., ...}, "truth": [[cell, ...], ...],
      "predicted": [[cell, ...], ...]}
Out: {"metric": the name that the text has, "score": a number, or null where it is undefined}
"""

import hashlib
import json
import math
import pathlib
import re
import sys
import tomllib
from collections import Counter
from fractions import Fraction

TEXTS = pathlib.Path(__file__).parents[2] / "src/page/definitions.toml"
FORMULA = re.compile(r"^```\n(\w+) = ", re.MULTILINE)
TINY = 2.0**-52


class Undefined(Exception):
    """The page says that there is no score."""


def side_by_side(*sides):
    return zip(*sides, strict=True)


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


# Labels: one class per row.


def accuracy_label(truth, predicted):
    return sum(t == p for t, p in side_by_side(truth, predicted)) / len(truth)


def balanced_accuracy_label(truth, predicted):
    def recall(c):
        both = sum(t == c and p == c for t, p in side_by_side(truth, predicted))
        return both / sum(t == c for t in truth)

    return mean(recall(c) for c in set(truth))


def counts(truth, predicted, c):
    pairs = list(side_by_side(truth, predicted))
    tp = sum(t == c and p == c for t, p in pairs)
    fp = sum(t != c and p == c for t, p in pairs)
    fn = sum(t == c and p != c for t, p in pairs)
    return tp, fp, fn


def f1_of(tp, fp, fn):
    denominator = 2 * tp + fp + fn
    return 2 * tp / denominator if denominator else 0.0


def f1_label(truth, predicted, positive):
    return f1_of(*counts(truth, predicted, positive))


def macro_f1_label(truth, predicted):
    return mean(f1_of(*counts(truth, predicted, c)) for c in set(truth) | set(predicted))


def micro_f1_label(truth, predicted):
    tp = sum(t == p for t, p in side_by_side(truth, predicted))
    other = len(truth) - tp
    return f1_of(tp, other, other)


def weighted_f1_label(truth, predicted):
    s = Counter(truth)
    return math.fsum(s[c] * f1_of(*counts(truth, predicted, c)) for c in s) / len(truth)


def macro_jaccard_label(truth, predicted):
    def share(c):
        pairs = list(side_by_side(truth, predicted))
        return sum(t == c == p for t, p in pairs) / sum(c in pair for pair in pairs)

    return mean(share(c) for c in set(truth) | set(predicted))


def mcc_label(truth, predicted):
    n, c = len(truth), sum(t == p for t, p in side_by_side(truth, predicted))
    t, p = Counter(truth), Counter(predicted)
    products = sum(t[k] * p[k] for k in t | p)
    under = (n**2 - sum(v**2 for v in p.values())) * (n**2 - sum(v**2 for v in t.values()))
    return (c * n - products) / math.sqrt(under) if under else 0.0


def quadratic_kappa_label(truth, predicted, classes):
    t, p = [classes.index(c) for c in truth], [classes.index(c) for c in predicted]
    of_truth, of_submission = Counter(t), Counter(p)
    o = sum((a - b) ** 2 for a, b in side_by_side(t, p))
    e = sum((i - j) ** 2 * of_truth[i] * of_submission[j] for i in of_truth for j in of_submission)
    if e == 0:
        raise Undefined
    return 1 - len(t) * o / e


# Flags: a set of labels per row.


def accuracy_flags(truth, predicted):
    return sum(t == p for t, p in side_by_side(truth, predicted)) / len(truth)


def label_counts(truth, predicted, label):
    rows = list(side_by_side(truth, predicted))
    tp = sum(label in t and label in p for t, p in rows)
    fp = sum(label in p and label not in t for t, p in rows)
    fn = sum(label in t and label not in p for t, p in rows)
    return tp, fp, fn


def macro_f1_flags(truth, predicted, labels):
    return mean(f1_of(*label_counts(truth, predicted, label)) for label in labels)


def micro_f1_flags(truth, predicted, labels):
    totals = [
        sum(column) for column in side_by_side(*(label_counts(truth, predicted, label) for label in labels))
    ]
    return f1_of(*totals)


def weighted_f1_flags(truth, predicted, labels):
    of_labels = [label_counts(truth, predicted, label) for label in labels]
    weights = [tp + fn for tp, _, fn in of_labels]
    if sum(weights) == 0:
        return 0.0
    return math.fsum(s * f1_of(*one) for s, one in side_by_side(weights, of_labels)) / sum(weights)


def samples_f1_flags(truth, predicted):
    def f1(t, p):
        return 2 * len(t & p) / (len(t) + len(p)) if t or p else 0.0

    return math.fsum(f1(t, p) for t, p in side_by_side(truth, predicted)) / len(truth)


def macro_jaccard_flags(truth, predicted, labels):
    def share(label):
        tp, fp, fn = label_counts(truth, predicted, label)
        either = tp + fp + fn
        return tp / either if either else 0.0

    return mean(share(label) for label in labels)


def samples_jaccard_flags(truth, predicted):
    def share(t, p):
        return len(t & p) / len(t | p) if t or p else 0.0

    return math.fsum(share(t, p) for t, p in side_by_side(truth, predicted)) / len(truth)


# Probabilities.


def pairs_in_order(positive, negative):
    if not positive or not negative:
        raise Undefined
    wins = sum(1.0 if a > b else 0.5 if a == b else 0.0 for a in positive for b in negative)
    return wins / (len(positive) * len(negative))


def roc_auc_probability(truth, predicted):
    return pairs_in_order(
        [p for t, p in side_by_side(truth, predicted) if t == 1],
        [p for t, p in side_by_side(truth, predicted) if t == 0],
    )


def ovr_auc_class_probabilities(truth, predicted, classes):
    def auc(c):
        column = [row[classes.index(c)] for row in predicted]
        return pairs_in_order(
            [p for t, p in side_by_side(truth, column) if t == c],
            [p for t, p in side_by_side(truth, column) if t != c],
        )

    return mean(auc(c) for c in classes)


def average_precision_probability(truth, predicted):
    ones = sum(truth)
    if ones == 0:
        raise Undefined
    total, before = 0.0, 0.0
    for v in sorted(set(predicted), reverse=True):
        taken = [t for t, p in side_by_side(truth, predicted) if p >= v]
        recall = sum(taken) / ones
        total += (recall - before) * (sum(taken) / len(taken))
        before = recall
    return total


def log_of(q):
    return math.log(min(max(q, TINY), 1 - TINY))


def log_loss_probability(truth, predicted):
    return -math.fsum(log_of(p if t == 1 else 1 - p) for t, p in side_by_side(truth, predicted)) / len(truth)


def log_loss_class_probabilities(truth, predicted, classes):
    def q(c, row):
        return row[classes.index(c)] / math.fsum(row)

    return -math.fsum(log_of(q(c, row)) for c, row in side_by_side(truth, predicted)) / len(truth)


def brier_probability(truth, predicted):
    return math.fsum((t - p) ** 2 for t, p in side_by_side(truth, predicted)) / len(truth)


# Numbers.


def rmse_number(truth, predicted):
    return math.sqrt(math.fsum((t - p) ** 2 for t, p in side_by_side(truth, predicted)) / len(truth))


def mae_number(truth, predicted):
    return math.fsum(abs(t - p) for t, p in side_by_side(truth, predicted)) / len(truth)


def mean_pinball_loss_quantiles(truth, predicted):
    def loss(a, quantiles):
        pairs = side_by_side(truth, quantiles)
        return math.fsum(max(a * (t - q), (a - 1) * (t - q)) for t, q in pairs) / len(truth)

    return sum(loss(a, [row[at] for row in predicted]) for at, a in enumerate([0.1, 0.5, 0.9])) / 3


def median_ae_number(truth, predicted):
    errors = sorted(abs(t - p) for t, p in side_by_side(truth, predicted))
    n = len(errors)
    return errors[n // 2] if n % 2 else (errors[n // 2 - 1] + errors[n // 2]) / 2


def rmsle_number(truth, predicted):
    if min(truth + predicted) <= -1:
        raise Undefined
    squares = ((math.log1p(t) - math.log1p(p)) ** 2 for t, p in side_by_side(truth, predicted))
    return math.sqrt(math.fsum(squares) / len(truth))


def mape_number(truth, predicted):
    return math.fsum(abs(t - p) / max(abs(t), TINY) for t, p in side_by_side(truth, predicted)) / len(truth)


def smape_number(truth, predicted):
    def e(t, p):
        return 2 * abs(t - p) / (abs(t) + abs(p)) if t or p else 0.0

    return math.fsum(e(t, p) for t, p in side_by_side(truth, predicted)) / len(truth)


def r2_number(truth, predicted):
    if len(set(truth)) == 1:
        raise Undefined
    m = mean(truth)
    residual = math.fsum((t - p) ** 2 for t, p in side_by_side(truth, predicted))
    return 1 - residual / math.fsum((t - m) ** 2 for t in truth)


def pearson_number(truth, predicted):
    if len(set(truth)) == 1 or len(set(predicted)) == 1:
        raise Undefined
    mt, mp = mean(truth), mean(predicted)
    together = math.fsum((t - mt) * (p - mp) for t, p in side_by_side(truth, predicted))
    of_truth = math.sqrt(math.fsum((t - mt) ** 2 for t in truth))
    return together / (of_truth * math.sqrt(math.fsum((p - mp) ** 2 for p in predicted)))


def spearman_number(truth, predicted):
    def ranks(values):
        ordered = sorted(values)
        return [ordered.index(v) + (1 + ordered.count(v)) / 2 for v in values]

    return pearson_number(ranks(truth), ranks(predicted))


# Rankings: each row has a grade and a query.


def of_queries(truth, predicted, of_query):
    queries = {}
    for (grade, query), score in side_by_side(truth, predicted):
        queries.setdefault(query, []).append((score, grade))
    return mean(of_query(rows) for rows in queries.values())


def ranked(rows):
    # Sorting is stable, so that equal scores keep the order of the file.
    return [grade for _, grade in sorted(rows, key=lambda row: -row[0])]


def map_at(k):
    def average_precision(rows):
        relevant = [grade > 0 for grade in ranked(rows)]
        if not any(relevant):
            return 0.0
        found = [sum(relevant[:i]) / i for i in range(1, min(k, len(rows)) + 1) if relevant[i - 1]]
        return math.fsum(found) / min(sum(relevant), k)

    return lambda truth, predicted: of_queries(truth, predicted, average_precision)


def ndcg_at(k):
    def discount(rank):
        return 1 / math.log2(1 + rank) if rank <= k else 0.0

    def gain(rows):
        scores = sorted((score for score, _ in rows), reverse=True)
        total = 0.0
        for score, grade in rows:
            first = scores.index(score) + 1
            ranks = range(first, first + scores.count(score))
            total += grade * mean(discount(rank) for rank in ranks)
        return total

    def ndcg(rows):
        ideal = gain([(grade, grade) for _, grade in rows])
        return gain(rows) / ideal if ideal else 0.0

    return lambda truth, predicted: of_queries(truth, predicted, ndcg)


def mrr_relevance(truth, predicted):
    def reciprocal(rows):
        places = [rank for rank, grade in enumerate(ranked(rows), 1) if grade > 0]
        return 1 / places[0] if places else 0.0

    return of_queries(truth, predicted, reciprocal)


# Masks: sets of pixels.


def dice_mask(truth, predicted):
    def d(t, p):
        return 2 * len(t & p) / (len(t) + len(p)) if t or p else 1.0

    return math.fsum(d(t, p) for t, p in side_by_side(truth, predicted)) / len(truth)


def iou_mask(truth, predicted):
    def j(t, p):
        return len(t & p) / len(t | p) if t or p else 1.0

    return math.fsum(j(t, p) for t, p in side_by_side(truth, predicted)) / len(truth)


def mean_iou_mask(truth, predicted):
    limits = [Fraction(50 + 5 * step, 100) for step in range(10)]

    def s(t, p):
        if not t and not p:
            return 1.0
        j = Fraction(len(t & p), len(t | p))
        return sum(j > limit for limit in limits) / 10

    return math.fsum(s(t, p) for t, p in side_by_side(truth, predicted)) / len(truth)


# Boxes.


def box_iou(a, b):
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(wide, 0.0) * max(high, 0.0)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def box_average_precision(truth, predicted, c, limit):
    submitted = []  # confidence and whether it is a hit, picture by picture
    total = sum(name == c for row in truth for name, _ in row)
    for objects, detections in side_by_side(truth, predicted):
        free = [box for name, box in objects if name == c]
        mine = [(confidence, box) for name, confidence, box in detections if name == c]
        for confidence, box in sorted(mine, key=lambda one: -one[0]):
            best, at = -1.0, None
            for place, other in enumerate(free):
                iou = box_iou(box, other)
                if iou >= best:
                    best, at = iou, place
            hit = at is not None and best >= limit
            if hit:
                free.pop(at)
            submitted.append((confidence, hit))
    submitted.sort(key=lambda one: -one[0])
    points, hits = [], 0
    for i, (_, hit) in enumerate(submitted, 1):
        hits += hit
        points.append((hits / total, hits / i))

    def m(r):
        return max((precision for recall, precision in points if recall >= r), default=0.0)

    return mean(m(k * 0.01) for k in range(101))


def box_map(limits):
    def score(truth, predicted):
        classes = {name for row in truth for name, _ in row}
        if not classes:
            raise Undefined
        return mean(box_average_precision(truth, predicted, c, limit) for c in classes for limit in limits)

    return score


def linspace(first, last, count):
    # NumPy's: the step is computed once, and the last value is exact.
    step = (last - first) / (count - 1)
    return [first + k * step for k in range(count - 1)] + [last]


# Pictures: lists of lines of intensities.


def flat(images):
    return [v for image in images for line in image for v in line]


def psnr_pixels(truth, predicted, top):
    def d(t, p):
        e = mean((a - b) ** 2 for a, b in side_by_side(flat([t]), flat([p])))
        return min(10 * math.log10(top**2 / e), 100.0) if e else 100.0

    return math.fsum(d(t, p) for t, p in side_by_side(truth, predicted)) / len(truth)


def ssim_pixels(truth, predicted, top):
    c1, c2 = (0.01 * top) ** 2, (0.03 * top) ** 2

    def s(t, p):
        mt, mp = sum(t) / 49, sum(p) / 49
        vt = math.fsum((a - mt) ** 2 for a in t) / 48
        vp = math.fsum((b - mp) ** 2 for b in p) / 48
        c = math.fsum((a - mt) * (b - mp) for a, b in side_by_side(t, p)) / 48
        return (2 * mt * mp + c1) * (2 * c + c2) / ((mt**2 + mp**2 + c1) * (vt + vp + c2))

    def window(image, y, x):
        return [v for line in image[y : y + 7] for v in line[x : x + 7]]

    def picture(t, p):
        if len(t) < 7 or len(t[0]) < 7:
            raise Undefined
        corners = [(y, x) for y in range(len(t) - 6) for x in range(len(t[0]) - 6)]
        return mean(s(window(t, y, x), window(p, y, x)) for y, x in corners)

    return mean(picture(t, p) for t, p in side_by_side(truth, predicted))


# Texts and identifiers in one cell.


def exact_match_text(truth, predicted):
    return sum(t.strip() == p.strip() for t, p in side_by_side(truth, predicted)) / len(truth)


def word_jaccard_text(truth, predicted):
    def j(t, p):
        t, p = set(t.lower().split()), set(p.lower().split())
        return len(t & p) / len(t | p) if t | p else 1.0

    return mean(j(t, p) for t, p in side_by_side(truth, predicted))


def mean_edit_distance_text(truth, predicted):
    def d(t, p):
        row = list(range(len(p) + 1))
        for i, a in enumerate(t, 1):
            above, row[0] = row[0], i
            for k, b in enumerate(p, 1):
                above, row[k] = row[k], min(above + (a != b), row[k] + 1, row[k - 1] + 1)
        return row[-1]

    return mean(d(t.strip(), p.strip()) for t, p in side_by_side(truth, predicted))


def map_at_ids(k):
    def average_precision(right, guesses):
        hits, total = 0, 0.0
        for i, guess in enumerate(guesses[:k], 1):
            if guess in right:
                hits += 1
                total += hits / i
        return total / min(len(right), k)

    return lambda truth, predicted: mean(
        average_precision(set(t.split()), p.split()) for t, p in side_by_side(truth, predicted)
    )


# The cells of the tables, as the section "Submission format" states them.


def column(rows, place, read):
    return [read(row[place]) for row in rows]


def read_mask(cell):
    numbers = [int(word) for word in cell.split()]
    return {
        pixel
        for start, length in side_by_side(numbers[::2], numbers[1::2])
        for pixel in range(start, start + length)
    }


def read_objects(cell):
    words = cell.split()
    rows = [words[at : at + 5] for at in range(0, len(words), 5)]
    return [(name, [float(word) for word in box]) for name, *box in rows]


def read_detections(cell):
    words = cell.split()
    rows = [words[at : at + 6] for at in range(0, len(words), 6)]
    return [(name, float(confidence), [float(word) for word in box]) for name, confidence, *box in rows]


def read_image(width):
    def read(cell):
        values = [int(word) for word in cell.split()]
        return [values[at : at + width] for at in range(0, len(values), width)]

    return read


def per_column(score):
    """A metric of one column as the mean over several."""
    return lambda truth, predicted: mean(
        score(list(t), list(p)) for t, p in side_by_side(side_by_side(*truth), side_by_side(*predicted))
    )


NUMBER = {
    "rmse": rmse_number,
    "mae": mae_number,
    "median_ae": median_ae_number,
    "rmsle": rmsle_number,
    "mape": mape_number,
    "smape": smape_number,
    "r2": r2_number,
    "pearson": pearson_number,
    "spearman": spearman_number,
}
NUMBERS = {name: per_column(score) for name, score in NUMBER.items() if name != "rmse"} | {
    "mcrmse": per_column(rmse_number)
}
QUANTILES = {"mean_pinball_loss": mean_pinball_loss_quantiles}
PROBABILITY = {
    "roc_auc": roc_auc_probability,
    "average_precision": average_precision_probability,
    "log_loss": log_loss_probability,
    "brier": brier_probability,
}
PROBABILITIES = {
    "mean_column_auc": per_column(roc_auc_probability),
    "average_precision": per_column(average_precision_probability),
    "log_loss": per_column(log_loss_probability),
}
LABEL = {
    "accuracy": lambda t, p, classes: accuracy_label(t, p),
    "balanced_accuracy": lambda t, p, classes: balanced_accuracy_label(t, p),
    "f1": lambda t, p, classes: f1_label(t, p, classes[1]),
    "macro_f1": lambda t, p, classes: macro_f1_label(t, p),
    "micro_f1": lambda t, p, classes: micro_f1_label(t, p),
    "weighted_f1": lambda t, p, classes: weighted_f1_label(t, p),
    "macro_jaccard": lambda t, p, classes: macro_jaccard_label(t, p),
    "mcc": lambda t, p, classes: mcc_label(t, p),
    "quadratic_kappa": quadratic_kappa_label,
}
FLAGS = {
    "accuracy": lambda t, p, labels: accuracy_flags(t, p),
    "macro_f1": macro_f1_flags,
    "micro_f1": micro_f1_flags,
    "weighted_f1": weighted_f1_flags,
    "samples_f1": lambda t, p, labels: samples_f1_flags(t, p),
    "macro_jaccard": macro_jaccard_flags,
    "samples_jaccard": lambda t, p, labels: samples_jaccard_flags(t, p),
}
CLASS_PROBABILITIES = {"ovr_auc": ovr_auc_class_probabilities, "log_loss": log_loss_class_probabilities}
RELEVANCE = {
    "map_at_5": map_at(5),
    "map_at_10": map_at(10),
    "ndcg_at_5": ndcg_at(5),
    "ndcg_at_10": ndcg_at(10),
    "mrr": mrr_relevance,
}
MASK = {"dice": dice_mask, "iou": iou_mask, "mean_iou": mean_iou_mask}
BOXES = {"box_map_50": box_map([0.5]), "box_map_50_95": box_map(linspace(0.5, 0.95, 10))}
PIXELS = {
    "rmse": lambda t, p, top: rmse_number(flat(t), flat(p)),
    "mae": lambda t, p, top: mae_number(flat(t), flat(p)),
    "psnr": psnr_pixels,
    "ssim": ssim_pixels,
}
TEXT = {
    "exact_match": exact_match_text,
    "word_jaccard": word_jaccard_text,
    "mean_edit_distance": mean_edit_distance_text,
}
IDS = {"map_at_5": map_at_ids(5), "map_at_10": map_at_ids(10)}
BY_KIND = {
    "number": NUMBER,
    "numbers": NUMBERS,
    "quantiles": QUANTILES,
    "probability": PROBABILITY,
    "probabilities": PROBABILITIES,
    "label": LABEL,
    "flags": FLAGS,
    "class_probabilities": CLASS_PROBABILITIES,
    "relevance": RELEVANCE,
    "mask": MASK,
    "boxes": BOXES,
    "pixels": PIXELS,
    "text": TEXT,
    "ids": IDS,
}


def evaluate(metric, prediction, truth, predicted):
    kind = prediction["kind"]
    score = BY_KIND[kind][metric]
    if kind == "number":
        return score(column(truth, 0, float), column(predicted, 0, float))
    if kind == "probability":
        return score(column(truth, 0, int), column(predicted, 0, float))
    if kind == "numbers":
        return score(
            [[float(c) for c in row] for row in truth], [[float(c) for c in row] for row in predicted]
        )
    if kind == "quantiles":
        return score(column(truth, 0, float), [[float(c) for c in row] for row in predicted])
    if kind == "probabilities":
        return score([[int(c) for c in row] for row in truth], [[float(c) for c in row] for row in predicted])
    if kind == "label":
        return score(column(truth, 0, str), column(predicted, 0, str), prediction["classes"])
    if kind == "class_probabilities":
        rows = [[float(cell) for cell in row] for row in predicted]
        return score(column(truth, 0, str), rows, prediction["classes"])
    if kind == "flags":
        sets = [column(side, 0, lambda cell: set(cell.split())) for side in (truth, predicted)]
        return score(*sets, prediction["labels"])
    if kind == "relevance":
        return score([(int(grade), query) for grade, query in truth], column(predicted, 0, float))
    if kind in ("text", "ids"):
        return score(column(truth, 0, str), column(predicted, 0, str))
    if kind == "mask":
        return score(column(truth, 0, read_mask), column(predicted, 0, read_mask))
    if kind == "boxes":
        return score(column(truth, 0, read_objects), column(predicted, 0, read_detections))
    read = read_image(prediction["width"])
    return score(column(truth, 0, read), column(predicted, 0, read), prediction["levels"] - 1)


def answer(case):
    metric = FORMULA.search(case["text"]).group(1)
    try:
        score = evaluate(metric, case["prediction"], case["truth"], case["predicted"])
    except Undefined:
        score = None
    return {"metric": metric, "score": score}


# The first digits of the SHA-256 of each text that a function above was written from.
WRITTEN_FROM = {
    "accuracy.flags": "12b8089e",
    "accuracy.label": "74f5e8cf",
    "average_precision.probabilities": "6820c73f",
    "average_precision.probability": "8fb32ca0",
    "balanced_accuracy.label": "623755e7",
    "box_map_50.boxes": "bc33b7e4",
    "box_map_50_95.boxes": "bac8f7b7",
    "brier.probability": "ab3b072d",
    "dice.mask": "af14b5e1",
    "exact_match.text": "2d609f85",
    "f1.label": "3d6352b8",
    "iou.mask": "391f61c4",
    "log_loss.class_probabilities": "a5bf8406",
    "log_loss.probabilities": "0acfe97e",
    "log_loss.probability": "48ba65dd",
    "macro_f1.flags": "521fb865",
    "macro_f1.label": "e2bd7463",
    "macro_jaccard.flags": "bb27f020",
    "macro_jaccard.label": "5f36a66e",
    "mae.number": "c18e795a",
    "mae.numbers": "5278c76a",
    "mae.pixels": "9f474548",
    "map_at_10.ids": "2999975a",
    "map_at_10.relevance": "1b66c71c",
    "map_at_5.ids": "0683736e",
    "map_at_5.relevance": "93269fba",
    "mape.number": "96b35e2d",
    "mape.numbers": "907708af",
    "mcc.label": "807da4e1",
    "mcrmse.numbers": "67e6848d",
    "mean_column_auc.probabilities": "8ab02035",
    "mean_edit_distance.text": "002b499e",
    "mean_iou.mask": "924c1972",
    "mean_pinball_loss.quantiles": "fbba1bc2",
    "median_ae.number": "affd1eed",
    "median_ae.numbers": "5ee7ccaa",
    "micro_f1.flags": "32e34b7a",
    "micro_f1.label": "0e3fe2e9",
    "mrr.relevance": "6beca896",
    "ndcg_at_10.relevance": "0a77e4e7",
    "ndcg_at_5.relevance": "4b232897",
    "ovr_auc.class_probabilities": "5d7e7b54",
    "pearson.number": "564fbd1a",
    "pearson.numbers": "6891a4f8",
    "psnr.pixels": "a4adbec4",
    "quadratic_kappa.label": "34b74586",
    "r2.number": "5f239070",
    "r2.numbers": "516c0cb9",
    "rmse.number": "7436592c",
    "rmse.pixels": "84ac32d3",
    "rmsle.number": "189067e9",
    "rmsle.numbers": "9dced461",
    "roc_auc.probability": "4f66b4a1",
    "samples_f1.flags": "411e1a30",
    "samples_jaccard.flags": "f2b752f9",
    "smape.number": "496909d0",
    "smape.numbers": "30904cf9",
    "spearman.number": "f56f5ab3",
    "spearman.numbers": "bdc078c0",
    "ssim.pixels": "eed7d1f2",
    "weighted_f1.flags": "a31d1366",
    "weighted_f1.label": "7d45d170",
    "word_jaccard.text": "1920caf9",
}


def check_texts():
    texts = tomllib.loads(TEXTS.read_text())
    stale = []
    for kind in {kind for kinds in texts.values() for kind in kinds} | set(BY_KIND):
        named = {metric for metric, kinds in texts.items() if kind in kinds}
        if named != set(BY_KIND.get(kind, {})):
            raise SystemExit(f"{kind}: the page defines {sorted(named)}, this file other metrics")
        for metric in sorted(named):
            digest = hashlib.sha256(texts[metric][kind].strip().encode()).hexdigest()[:8]
            if WRITTEN_FROM.get(f"{metric}.{kind}") != digest:
                stale.append(f'    "{metric}.{kind}": "{digest}",')
    if stale:
        lines = "\n".join(sorted(stale))
        raise SystemExit(f"read these again, then put their digests into WRITTEN_FROM:\n{lines}")


check_texts()
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))))
