"""A task as a solver sees it: the page, the tables, the form of a submission.

Every solver begins with this part, after the lines `SEED = ...` and `LIMIT = ...` (wall time in
seconds). It reads the public folder and nothing
else, and knows of no manifest.
"""

import json
import os
import re
import time
import traceback
import warnings
from glob import glob

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
np.random.seed(SEED)
STARTED = time.monotonic()

METRICS = (
    "balanced_accuracy accuracy macro_f1 micro_f1 weighted_f1 samples_f1 f1 macro_jaccard samples_jaccard mcc "
    "quadratic_kappa mean_column_auc ovr_auc roc_auc average_precision log_loss brier mcrmse rmsle rmse "
    "median_ae smape mape mae r2 pearson spearman map_at_5 map_at_10 ndcg_at_5 ndcg_at_10 mrr dice mean_iou iou "
    "box_map_50_95 box_map_50 psnr ssim mean_pinball_loss"
).split()
LOSSES = {
    "log_loss",
    "brier",
    "rmse",
    "mcrmse",
    "mae",
    "median_ae",
    "rmsle",
    "mape",
    "smape",
    "mean_pinball_loss",
}
# The quantiles that tasks ask for, in the order of their columns.
LEVELS = (0.1, 0.5, 0.9)
# What the page says of the target, and the form of a prediction that it means.
FORMS = {
    "number": "number",
    "probability of class 1": "probability",
    "label": "label",
    "one probability column per class": "class_probabilities",
    "a number each": "numbers",
    "three quantiles": "quantiles",
    "a probability each": "probabilities",
    "the labels that hold": "flags",
    "a score to rank by": "relevance",
    "a mask": "mask",
    "boxes": "boxes",
    "an image": "pixels",
}


class Unknown(Exception):
    """A task of a kind that the solver has no method for."""


def left():
    """Seconds until a solver should be done."""
    return 0.88 * LIMIT - (time.monotonic() - STARTED)


def read(name, **options):
    return pd.read_csv(f"input/{name}", keep_default_na=False, na_values=[""], **options)


def text_of(path):
    with open(f"input/{path}", encoding="utf-8", errors="replace") as file:
        return file.read()


PAGE = text_of("description.md") if os.path.exists("input/description.md") else ""
sample = pd.read_csv("input/sample_submission.csv", dtype=str, keep_default_na=False)
ID, OUT = sample.columns[0], list(sample.columns[1:])


def glance(name):
    """What the short list of the page says under a name."""
    found = re.search(rf"^[-*] \**{name}\**: *(.+)$", PAGE, re.M)
    return found.group(1).strip() if found else ""


def metric_of_page():
    told = glance("Metric").split(" ")[0].strip("`")
    if told in METRICS:
        return told
    evaluation = PAGE.partition("## Evaluation")[2].partition("\n## ")[0] or PAGE
    named = [name for name in re.findall(r"`([\w@]+)`", evaluation) if name in METRICS]
    if named:
        return named[0]
    words = re.sub(r"[^a-z0-9]+", "_", evaluation.lower())
    return next((name for name in METRICS if f"_{name}_" in f"_{words}_"), "")


METRIC = metric_of_page()
HIGHER = METRIC not in LOSSES
# What the page's table says of columns: name -> (kind, values).
COLUMNS = {
    name: (kind.strip(), values.strip())
    for name, kind, values in re.findall(r"^\| *`([^`]+)` *\| *([^|]+)\|([^|]*)\|", PAGE, re.M)
}


def first_of_kind(kind):
    return next((name for name, (said, _) in COLUMNS.items() if said == kind), None)


def tables():
    if not (os.path.exists("input/train.csv") and os.path.exists("input/test.csv")):
        raise Unknown("no train.csv and test.csv")
    # Cells of the target are kept as they are written: "None" and "" are values there.
    train, test = (read(name, low_memory=False) for name in ("train.csv", "test.csv"))
    raw = pd.read_csv("input/train.csv", dtype=str, keep_default_na=False)
    ids = pd.read_csv("input/test.csv", dtype=str, keep_default_na=False)
    if ID in test:
        test[ID] = ids[ID]
    if ID in train:
        train[ID] = raw[ID]
    return train, test, raw


def looks_like_numbers(cells):
    return pd.to_numeric(cells, errors="coerce").notna().all()


def form_of(train, raw, targets):
    """The form of a prediction: as the page says, else as the tables look."""
    told = re.search(r"\(([^()]*)\)\s*$", glance("Target"))
    if told and told.group(1) in FORMS:
        return FORMS[told.group(1)]
    if first_of_kind("query"):
        return "relevance"
    if len(OUT) > 1:
        if set(OUT) <= set(targets):
            values = set(np.unique(train[OUT].to_numpy().astype(str)))
            return "probabilities" if values <= {"0", "1", "0.0", "1.0"} else "numbers"
        if METRIC == "mean_pinball_loss" and len(targets) == 1 and len(OUT) == len(LEVELS):
            return "quantiles"
        if len(targets) == 1 and set(raw[targets[0]]) <= set(OUT):
            return "class_probabilities"
        raise Unknown("columns of the sample that are neither targets nor classes")
    if len(targets) != 1 or targets[0] != OUT[0]:
        raise Unknown("a target that the training table does not have")
    cells = raw[targets[0]]
    if looks_like_numbers(cells):
        if METRIC in ("roc_auc", "average_precision", "log_loss", "brier"):
            return "probability"
        whole = cells.str.fullmatch(r"-?\d+").all() and cells.nunique() <= 30
        labels = {
            "accuracy",
            "balanced_accuracy",
            "f1",
            "macro_f1",
            "micro_f1",
            "weighted_f1",
            "mcc",
            "quadratic_kappa",
        }
        return "label" if METRIC in labels or (whole and not METRIC) else "number"
    if METRIC in ("dice", "iou", "mean_iou"):
        return "mask"
    if METRIC.startswith("box_map"):
        return "boxes"
    if METRIC in ("psnr", "ssim") or (
        cells.str.fullmatch(r"[\d ]+").all() and cells.str.count(" ").min() > 40
    ):
        return "pixels"
    if METRIC in ("samples_f1", "samples_jaccard") or cells.str.contains(" ").any():
        vocabulary = set(" ".join(cells).split())
        if len(vocabulary) <= 40:
            return "flags"
        raise Unknown("targets that are free text")
    if cells.nunique() > max(100, len(cells) // 2):
        raise Unknown("targets that are ids or free text")
    return "label"


def label_of(path):
    """The label in the name of a training file, as in `images/oak.10482.png`; "" if there is none."""
    label, _, rest = str(path).rpartition("/")[2].partition(".")
    return label if "." in rest else ""


def unlabelled(path):
    """A path without that label."""
    folder, slash, name = str(path).rpartition("/")
    return folder + slash + (name.partition(".")[2] if label_of(path) else name)


def labels_in_names(train, raw):
    """The column whose files have the answers in their names, which become a column of both tables; None
    if there is none. Tells from the tables alone: they have no column of answers."""
    if any(name in train for name in OUT):
        return None
    for column in raw:
        labels = raw[column].map(label_of)
        if len(labels) and labels.all():
            target = OUT[0] if len(OUT) == 1 else "label"
            raw[target] = labels
            train[target] = pd.to_numeric(labels) if looks_like_numbers(labels) else labels
            return column
    return None


def files_of(path):
    """The file of a path, or the files of a folder in the order of their numbers."""
    if not os.path.isdir(f"input/{path}"):
        return [path]
    names = sorted(os.listdir(f"input/{path}"), key=lambda name: (len(name), name))
    return [f"{path}/{name}" for name in names]


def is_item(path):
    """Whether a path is that of a file, or of a folder of files."""
    return os.path.isfile(path) or os.path.isdir(path) and all(map(os.path.isfile, glob(f"{path}/*")))


def load():
    """Leaves the tables and what is known of their columns as globals."""
    global train, test, raw, TARGETS, TARGET, KIND, QUERY, N, both, names
    global FILES, TEXTS, WORDS, NUMBERS, SERIES, STEP, CYCLE, LABELLED
    train, test, raw = tables()
    if os.path.exists("input/train_positions.csv"):
        train, test, raw = unrolled(train, test)
    if ID not in test or set(test[ID]) != set(sample[ID]) or not test[ID].is_unique:
        raise Unknown("rows of the submission that are not the rows of test.csv")
    TARGETS = [name for name in train if name not in test]
    LABELLED = None if TARGETS else labels_in_names(train, raw)
    TARGETS = [name for name in train if name not in test]
    KIND = form_of(train, raw, TARGETS)
    listed = [name for name in OUT if name in TARGETS]
    TARGETS = listed or TARGETS
    if not TARGETS:
        raise Unknown("a training table without targets")
    TARGET = TARGETS[0]
    N = len(train)
    both = pd.concat([train[[name for name in test if name in train]], test], ignore_index=True)
    QUERY, SERIES, STEP, CYCLE = (
        first_of_kind(kind) for kind in ("query", "series", "step", "position in a cycle")
    )
    names = [name for name in test if name not in (ID, QUERY) and name in both]
    FILES, TEXTS, WORDS, NUMBERS = [], [], [], []
    for name in names:
        if pd.api.types.is_numeric_dtype(both[name]):
            NUMBERS.append(name)
            continue
        cells = both[name].dropna().astype(str)
        if len(cells) and all(is_item(f"input/{cell}") for cell in cells[:5]):
            FILES.append(name)
        elif len(cells) and (cells.str.len().mean() > 40 or cells.str.count(" ").mean() > 4):
            TEXTS.append(name)
        else:
            WORDS.append(name)


def submit(columns):
    """Writes values per row of test.csv in the order of the sample."""
    frame = pd.DataFrame({name: list(values) for name, values in columns.items()}, index=list(test[ID]))
    frame = frame.reindex(sample[ID])
    frame.insert(0, ID, list(sample[ID]))
    frame[[ID, *OUT]].to_csv("submission.csv", index=False)


def copy_sample():
    sample.to_csv("submission.csv", index=False)


def solve_by(*methods):
    """The first method that does not fail; the sample submission after the last. Says why it was not
    the first."""
    reason = None
    for method in (*methods, copy_sample):
        try:
            method()
        except Exception as error:
            traceback.print_exc()
            reason = reason or f"{type(error).__name__}: {error}"
            continue
        if reason:
            print(f"note: fell back to {method.__name__}: {reason}"[:300])
        return
