"""What one table with four baselines costs in scikit-learn, one request per line.

A request is a JSON object with `train`, `test` (rows), `columns`, `classes` (0 for numbers) and
`targets`; the answer is the seconds that took: draw such a table, fit the baselines that a task's
ladder has (a constant; a linear model; a forest with the better of two settings, over three
seeds; a linear model on four columns), predict the test rows.
"""

import json
import sys
import time

import numpy as np
from sklearn.datasets import make_classification, make_regression
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def baselines(train, test, columns, classes, targets):
    rows = train + test
    columns = max(columns, 6)
    for target in range(targets):
        if classes:
            x, y = make_classification(
                rows, columns, n_informative=5, n_redundant=0, n_classes=classes,
                n_clusters_per_class=1, random_state=target,
            )
        else:
            x, y = make_regression(rows, columns, n_informative=5, noise=5.0, random_state=target)
        constant = DummyClassifier(strategy="prior") if classes else DummyRegressor()
        linear = LogisticRegression(max_iter=500) if classes else Ridge()
        forest = RandomForestClassifier if classes else RandomForestRegressor
        fitted = [(constant.fit(x[:train], y[:train]), x)]
        for features in (x, x[:, :4]):
            model = make_pipeline(StandardScaler(), linear)
            fitted.append((model.fit(features[:train], y[:train]), features))
            predict(*fitted[-1], train, classes)
        settings = [dict(max_features="sqrt"), dict(max_features=0.5, min_samples_leaf=3)]
        grown = [
            forest(60, oob_score=True, random_state=0, **setting).fit(x[:train], y[:train])
            for setting in settings
        ]
        best = int(np.argmax([model.oob_score_ for model in grown]))
        more = [
            forest(60, random_state=seed, **settings[best]).fit(x[:train], y[:train])
            for seed in (1, 2)
        ]
        for model in [constant, grown[best], *more]:
            predict(model, x, train, classes)


def predict(model, x, train, classes):
    return model.predict_proba(x[train:]) if classes else model.predict(x[train:])


for line in sys.stdin:
    request = json.loads(line)
    started = time.perf_counter()
    baselines(**request)
    print(time.perf_counter() - started, flush=True)
