"""Models for a few hundred rows, compared by cross-validation. A model is a function
`(a, y, b) -> values of b`: class probabilities, a probability per label, or numbers."""

from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV


def class_count():
    if KIND in ("label", "class_probabilities"):
        return len(class_names())
    return 2 if is_classes() else 0


def scaled(a, b):
    mean, spread = a.mean(axis=0), a.std(axis=0) + 1e-6
    return (a - mean) / spread, np.clip((b - mean) / spread, -6, 6)


def spread_out(model, rows, count):
    """Probabilities of all classes, also of those that the model has not met."""
    out = np.full((len(rows), count), 1e-3)
    out[:, model.classes_.astype(int)] = model.predict_proba(rows)
    return out


def per_column(make, a, y, b):
    """Classifiers: one for all classes, or one per label."""
    if is_classes():
        return spread_out(make().fit(a, y[:, 0]), b, class_count())
    out = []
    for column in y.T:
        constant_column = len(np.unique(column)) == 1
        out.append(
            np.full(len(b), column[0]) if constant_column else make().fit(a, column).predict_proba(b)[:, 1]
        )
    return np.column_stack(out)


def has_classes():
    return is_classes() or KIND in ("probabilities", "flags")


def line(a, y, b):
    a, b = scaled(a, b)
    if has_classes():
        strength = 0.02 if a.shape[1] > 60 else 0.1
        return per_column(lambda: LogisticRegression(C=strength, max_iter=400), a, y, b)
    return RidgeCV(np.logspace(-1, 4, 16)).fit(a, y).predict(b).reshape(len(b), -1)


def trees(a, y, b):
    options = {"n_estimators": 120, "min_samples_leaf": 2, "random_state": SEED}
    share = 0.3 if a.shape[1] > 20 else 0.7
    if has_classes():
        if not is_classes():
            model = ExtraTreesRegressor(max_features=share, **options).fit(a, y)
            return np.clip(model.predict(b).reshape(len(b), -1), 0, 1)
        return per_column(lambda: ExtraTreesClassifier(max_features=share, **options), a, y, b)
    return ExtraTreesRegressor(max_features=share, **options).fit(a, y).predict(b).reshape(len(b), -1)


def boosted(a, y, b):
    options = {
        "n_estimators": 90,
        "learning_rate": 0.07,
        "num_leaves": 8,
        "min_child_samples": 8,
        "reg_lambda": 1.0,
        "subsample": 0.8,
        "subsample_freq": 1,
        "colsample_bytree": 0.6,
        "n_jobs": 1,
        "verbose": -1,
        "random_state": SEED,
    }
    if has_classes():
        return per_column(lambda: LGBMClassifier(**options), a, y, b)
    loss = "l1" if METRIC in ("mae", "median_ae", "mape", "smape") else "l2"
    fits = [LGBMRegressor(objective=loss, **options).fit(a, column) for column in y.T]
    return np.column_stack([model.predict(b) for model in fits])


def error(y, p):
    """The loss by which models are compared: log loss, or squares in units of the targets' spread."""
    if is_classes():
        return -np.log(normal(p)[np.arange(len(y)), y[:, 0]]).mean()
    if has_classes():
        p = np.clip(p, 1e-3, 1 - 1e-3)
        return -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    if METRIC in ("mae", "median_ae", "mape", "smape"):
        return -np.mean([number_score(y[:, place], p[:, place]) for place in range(y.shape[1])])
    return (((y - p) / (y.std(axis=0) + EPS)) ** 2).mean()


def crossed(model, x, y, fold):
    """Values of the training rows, each from a fit without its fold, and of the rows ahead."""
    a, b = x[:N], x[N:]
    held = None
    for part in np.unique(fold):
        rest = fold == part
        values = model(a[~rest], y[~rest], a[rest])
        held = np.zeros((N, values.shape[1])) if held is None else held
        held[rest] = values
    return held, model(a, y, b)


def widths_of(y, held, x, fold):
    """Where quantiles are asked for: guesses by trees at how far rows lie from `held`, of the training
    rows and of those ahead, bold and shy ones."""
    if KIND != "quantiles":
        return []
    off = np.abs(y - held)
    near, far = crossed(trees, x, np.log(off + 0.1 * off.mean()), fold)
    return [(np.exp(power * near[:, 0]), np.exp(power * far[:, 0])) for power in (0.5, 1.0, 1.5)]


def weights_of(held, y, steps=60):
    """Weights of models that sum to 1, grown one small step at a time towards the least error, and
    pulled to equal ones: few rows cannot tell models apart."""
    chosen, total, count = [], 0.0, np.zeros(len(held))
    for step in range(steps):
        losses = [error(y, (total + values) / (step + 1)) for values in held]
        best = int(np.argmin(losses))
        total = total + held[best]
        count[best] += 1
        chosen.append(best)
    return 0.6 * count / steps + 0.4 / len(held)


def on_logs(y):
    """Whether numbers are fitted on their logarithms: relative errors, all values above 0."""
    return (
        KIND in ("number", "numbers")
        and METRIC in ("rmsle", "mape", "smape")
        and (y > -0.5 if METRIC == "rmsle" else y > 0).all()
    )


def to_scale(y):
    return np.log1p(y) if METRIC == "rmsle" else np.log(y)


def from_scale(values, y):
    values = np.clip(values, to_scale(y).min() - 1, to_scale(y).max() + 1)
    return np.expm1(values) if METRIC == "rmsle" else np.exp(values)
