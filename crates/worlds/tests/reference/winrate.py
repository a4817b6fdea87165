"""The length-controlled win rate by scikit-learn: comparisons as JSON a line in, the fit out.

With the folds of this project the fit is run to the end, so that it is the minimum; `usual` is what
the same regression gives with scikit-learn's own folds and its usual tolerance.
"""

import json
import sys
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import make_scorer
from sklearn.model_selection import GroupKFold

warnings.filterwarnings("ignore")
sklearn.set_config(enable_metadata_routing=True)


def log_loss(truth, predicted, share, weight):
    # The label and its share say how likely 1 is; both rows of a comparison say the same.
    true = np.where(truth == 1, share, 1 - share)
    predicted = np.clip(predicted, 1e-15, 1 - 1e-15)
    return -np.mean(weight * (true * np.log(predicted) + (1 - true) * np.log(1 - predicted)))


def fit(columns, share, weight, folds, tolerance):
    twice = np.concatenate([columns, columns])
    labels = np.repeat([1, 0], len(share))
    shares = np.concatenate([share, 1 - share])
    weights = np.concatenate([weight, weight])
    scoring = make_scorer(log_loss, response_method="predict_proba", greater_is_better=False)
    model = LogisticRegressionCV(
        cv=folds,
        scoring=scoring.set_score_request(share=True, weight=True),
        penalty="l1",
        solver="liblinear",
        fit_intercept=False,
        random_state=123,
        tol=tolerance,
        max_iter=100_000,
    )
    model.set_fit_request(sample_weight=True)
    arguments = {"share": shares, "weight": weights, "sample_weight": shares * weights}
    if isinstance(folds, GroupKFold):
        arguments["groups"] = np.tile(np.arange(len(share)), 2)
    return model.fit(twice, labels, **arguments)


def own_folds(count):
    fold = (count - 1 - np.tile(np.arange(count), 2)) % 5
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]


def key(comparison):
    gamed = comparison["gamed"]
    return (
        comparison["difficulty"],
        comparison["reference_length"],
        comparison["length"],
        comparison["preference"],
        gamed[0][0] + gamed[1][0],
    )


def score(model, difficulty):
    _, w2, w3 = model.coef_[0]
    return 100 * np.mean(1 / (1 + np.exp(-(w2 * difficulty + w3))))


for line in sys.stdin:
    rows = sorted(json.loads(line), key=key)
    difficulty = np.array([row["difficulty"] for row in rows], dtype=float)
    reference = np.array([row["reference_length"] for row in rows], dtype=float)
    longer = reference - np.array([row["length"] for row in rows])
    gamed = np.array([row["gamed"] for row in rows], dtype=float)
    gamed_longer = (reference[:, None] - gamed[:, :, 1]).ravel()
    deviation = gamed_longer.std(ddof=1)
    ones = np.ones(len(rows))
    columns = np.concatenate(
        [
            np.stack(
                [
                    np.tanh(gamed_longer / deviation),
                    np.zeros(2 * len(rows)),
                    np.zeros(2 * len(rows)),
                ],
                axis=1,
            ),
            np.stack([np.tanh(longer / deviation), difficulty, ones], axis=1),
        ]
    )
    share = np.concatenate([gamed[:, :, 0].ravel(), [row["preference"] for row in rows]])
    weight = np.concatenate([np.full(2 * len(rows), 0.2 / 2), ones])

    exact = fit(columns, share, weight, own_folds(len(share)), 1e-10)
    usual = fit(columns, share, weight, GroupKFold(n_splits=5), 1e-4)
    answer = {
        "weights": exact.coef_[0].tolist(),
        "score": score(exact, difficulty),
        "usual": score(usual, difficulty),
    }
    print(json.dumps(answer))
