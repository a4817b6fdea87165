"""Fits scikit-learn's linear models to tables from standard input, one JSON object a line.

Each has rows `x`, targets `y`, a `model` and a `penalty`. The answer is what the model says of
the same rows: numbers, log odds, or one list of class probabilities a row.
"""

import json
import sys

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import StandardScaler

for line in sys.stdin:
    request = json.loads(line)
    z = StandardScaler().fit_transform(request["x"])
    y, penalty = request["y"], request["penalty"]
    if request["model"] == "ridge":
        answer = Ridge(alpha=penalty, solver="cholesky").fit(z, y).predict(z)
    else:
        # As close to the optimum as it gets: scikit-learn's own tolerance is 1e-4.
        model = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000)
        model.set_params(solver="newton-cholesky").fit(z, y)
        softmax = request["model"] == "softmax"
        answer = model.predict_proba(z) if softmax else model.decision_function(z)
    print(json.dumps(answer.tolist()))
