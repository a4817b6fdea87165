#!/usr/bin/env python3
"""Five data sets that come with scikit-learn, as competitions in MLE-bench's prepared form.

    scripts/sklearn_competitions.py --out competitions
    agents bench check --bench mlebench --data competitions

Each becomes a folder: ``prepared/public`` with the description, the training rows, the test rows and
a sample submission; ``prepared/private/answers.csv``; and ``grading.json``, by which it is graded
natively. ``boards/ID.csv`` holds the scores of the reference solvers, best first: medals follow from
them as from a leaderboard, and ``agents ... --boards`` gives the places among them.

The split, the ids and the order of rows follow from ``--seed``. The data is that of the installed
scikit-learn, whose page names its sources; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score, root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

# The share of the rows that is for testing, as in MLE-bench's own splits of small data.
TEST_SHARE = 0.4


@dataclass(frozen=True)
class Competition:
    """A data set with what is asked of it."""

    name: str
    load: Callable[[], object]
    metric: str
    target: str
    about: str
    asked: str


COMPETITIONS = (
    Competition(
        "cell-nuclei-of-tumours",
        datasets.load_breast_cancer,
        "roc_auc",
        "benign",
        "Each row is a sample of tissue that was taken with a fine needle. Under the microscope the "
        "outlines of cell nuclei were traced, and ten of their properties measured: their mean over "
        "the nuclei, its standard error, and the mean of the three largest.",
        "Predict the probability that the tumour is benign. Submissions are scored by the area under "
        "the ROC curve.",
    ),
    Competition(
        "wines-of-three-growers",
        datasets.load_wine,
        "log_loss",
        "grower",
        "Each row is a chemical analysis of a wine from one region. Three growers are told apart, who "
        "go by numbers.",
        "Predict the probability of each grower, a column each; those of a row add up to 1. "
        "Submissions are scored by the log loss over the three classes.",
    ),
    Competition(
        "kinds-of-irises",
        datasets.load_iris,
        "accuracy",
        "kind",
        "Each row is a flower, of which two leaves of the bloom were measured in centimetres.",
        "Predict the kind of each flower. Submissions are scored by the share of right names.",
    ),
    Competition(
        "diabetes-after-a-year",
        lambda: datasets.load_diabetes(scaled=False),
        "rmse",
        "progression",
        "Each row is a patient with diabetes: age, sex, body mass, blood pressure and six measures of "
        "the blood serum.",
        "Predict how far the disease has come after a year, as a number. Submissions are scored by "
        "the root mean squared error.",
    ),
    Competition(
        "handwritten-digits-in-64-pixels",
        datasets.load_digits,
        "accuracy",
        "digit",
        "Each row is a handwritten digit in eight by eight pixels, from 0 for paper to 16 for ink. "
        "Columns go from left to right, then down.",
        "Predict the digit. Submissions are scored by the share of right digits.",
    ),
)


def solvers(is_class: bool, seed: int) -> list[BaseEstimator]:
    """The field: plain solvers with settings from poor to good."""
    if is_class:
        found: list[BaseEstimator] = [DummyClassifier()]
        found += [DecisionTreeClassifier(max_depth=d, random_state=seed) for d in (1, 3, None)]
        found += [scaled(KNeighborsClassifier(k)) for k in (1, 5, 25)]
        found += [GaussianNB()]
        found += [scaled(LogisticRegression(C=c, max_iter=2000)) for c in (0.01, 1, 100)]
        found += [RandomForestClassifier(n, random_state=seed) for n in (10, 200)]
        found += [ExtraTreesClassifier(200, random_state=seed)]
        found += [HistGradientBoostingClassifier(max_iter=n, random_state=seed) for n in (20, 100)]
        return found
    found = [DummyRegressor()]
    found += [DecisionTreeRegressor(max_depth=d, random_state=seed) for d in (1, 3, None)]
    found += [scaled(KNeighborsRegressor(k)) for k in (1, 5, 25)]
    found += [scaled(Ridge(a)) for a in (0.1, 10, 1000)]
    found += [scaled(SVR(C=c)) for c in (1, 100)]
    found += [RandomForestRegressor(n, random_state=seed) for n in (10, 200)]
    found += [ExtraTreesRegressor(200, random_state=seed)]
    found += [HistGradientBoostingRegressor(max_iter=n, random_state=seed) for n in (20, 100)]
    return found


def scaled(model: BaseEstimator) -> BaseEstimator:
    return make_pipeline(StandardScaler(), model)


def score(metric: str, truth: pd.Series, model: BaseEstimator, rows: pd.DataFrame) -> float:
    """The score of a fitted model, as the native grader computes it."""
    if metric == "rmse":
        return float(root_mean_squared_error(truth, model.predict(rows)))
    if metric == "accuracy":
        return float(accuracy_score(truth, model.predict(rows)))
    if metric == "roc_auc":
        return float(roc_auc_score(truth, model.predict_proba(rows)[:, 1]))
    return float(log_loss(truth, model.predict_proba(rows), labels=model.classes_))


def thresholds(board: list[float]) -> dict[str, float]:
    """Medals of a board of fewer than 100 scores, best first, by MLE-bench's positions."""
    places = {"gold": len(board) // 10, "silver": len(board) // 5, "bronze": 2 * len(board) // 5}
    found = {f"{name}_threshold": board[max(place, 1) - 1] for name, place in places.items()}
    return found | {"median_threshold": float(np.median(board))}


def prediction(competition: Competition, classes: list[str]) -> dict[str, object]:
    column = competition.target
    kinds = {
        "roc_auc": {"kind": "probability", "column": column},
        "log_loss": {"kind": "class_probabilities", "column": column, "classes": classes},
        "accuracy": {"kind": "label", "column": column, "classes": classes},
        "rmse": {"kind": "number", "column": column},
    }
    return kinds[competition.metric]


def table(competition: Competition) -> tuple[pd.DataFrame, pd.Series]:
    """Columns with plain names, and the target."""
    data = competition.load()
    names = [str(name) for name in data.feature_names]
    names = [name.replace(" (cm)", "").replace("/", "_").replace(" ", "_") for name in names]
    rows = pd.DataFrame(data.data, columns=names)
    target = pd.Series(data.target, name=competition.target)
    if competition.name == "kinds-of-irises":
        target = target.map(dict(enumerate(data.target_names)))
    if competition.name == "wines-of-three-growers":
        target = target.map(lambda grower: f"grower_{grower + 1}")
    return rows, target


def page(competition: Competition, rows: int, tests: int, sample: pd.DataFrame) -> str:
    columns = ", ".join(f"`{name}`" for name in sample.columns)
    return (
        f"# {competition.name.replace('-', ' ').capitalize()}\n\n"
        f"{competition.about}\n\n## The task\n\n{competition.asked}\n\n## Files\n\n"
        f"- `train.csv`: {rows} rows with the column `{competition.target}`\n"
        f"- `test.csv`: {tests} rows without it\n"
        f"- `sample_submission.csv`: a submission in the right form, with the columns {columns}\n"
    )


def write(competition: Competition, out: Path, seed: int) -> list[float]:
    """Writes one competition, and returns its board."""
    rows, target = table(competition)
    is_class = competition.metric != "rmse"
    train_rows, test_rows, train_target, test_target = train_test_split(
        rows, target, test_size=TEST_SHARE, random_state=seed, stratify=target if is_class else None
    )
    rng = np.random.default_rng(seed)
    # Ids say nothing of the order of the data set.
    ids = [f"r{number:05d}" for number in rng.permutation(len(rows))]
    train = train_rows.assign(**{competition.target: train_target})
    train.insert(0, "id", ids[: len(train)])
    test = test_rows.copy()
    test.insert(0, "id", ids[len(train) :])
    answers = pd.DataFrame({"id": test["id"], competition.target: test_target})
    classes = sorted(str(name) for name in target.unique()) if is_class else []
    sample = pd.DataFrame({"id": test["id"]})
    if competition.metric == "log_loss":
        for name in classes:
            sample[name] = 1 / len(classes)
    else:
        # The same for every row: a class, an even chance, the mean.
        constants = {"accuracy": classes[:1], "roc_auc": [0.5]}
        constant = constants.get(competition.metric) or [round(float(train_target.mean()), 1)]
        sample[competition.target] = constant[0]
    folder = out / competition.name
    public, private = folder / "prepared/public", folder / "prepared/private"
    for path in (public, private, out / "boards"):
        path.mkdir(parents=True, exist_ok=True)
    for path, frame in (
        (public / "train.csv", train),
        (public / "test.csv", test),
        (public / "sample_submission.csv", sample),
        (private / "answers.csv", answers),
    ):
        frame.to_csv(path, index=False)
    text = page(competition, len(train), len(test), sample)
    (public / "description.md").write_text(text, encoding="utf-8")
    fitted = (model.fit(train_rows, train_target) for model in solvers(is_class, seed))
    scores = [score(competition.metric, test_target, model, test_rows) for model in fitted]
    is_lower_better = competition.metric in ("rmse", "log_loss")
    # Five decimals, as MLE-bench's reports have.
    board = sorted((round(found, 5) for found in scores), reverse=not is_lower_better)
    pd.DataFrame({"rank": range(1, len(board) + 1), "score": board}).to_csv(
        out / "boards" / f"{competition.name}.csv", index=False
    )
    rules = {
        "metric": competition.metric,
        "id_column": "id",
        "prediction": prediction(competition, classes),
        "thresholds": thresholds(board),
    }
    (folder / "grading.json").write_text(json.dumps(rules, indent=2) + "\n", encoding="utf-8")
    return board


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    parser.add_argument("--seed", type=int, default=0, help="of the split, the ids and the solvers")
    args = parser.parse_args()
    for competition in COMPETITIONS:
        board = write(competition, args.out, args.seed)
        middle = float(np.median(board))
        print(f"{competition.name}: {competition.metric}, best {board[0]:.5f}, median {middle:.5f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
