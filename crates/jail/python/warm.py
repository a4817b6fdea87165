# --- warming up ----------------------------------------------------------------------------------
# Part of the zygote's program (see `zygote.py`): what it does once, before the first run that
# may use it, so that no run has to.

import importlib
import os


def import_libraries(names):
    """Imports what is there of `names`; a name that is not installed is not missed here."""
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise


def check_data(folders):
    """Fails if a script could not read its data: on the host, files may be for root's eyes."""
    for folder in folders:
        for path in [folder, *(entry.path for entry in os.scandir(folder))]:
            if not os.access(path, os.R_OK | (os.X_OK if os.path.isdir(path) else 0)):
                raise RuntimeError(f"{path} is not readable for others; try `chmod -R o+rX` on it")


def warm_up():
    """Runs the usual code paths once, so that lazy imports and first-call set-up are behind us.

    Everything runs in one thread: a forked child of a process that used several may hang.
    """
    import io

    import numpy as np
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import (
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
    from sklearn.metrics import mean_squared_error, roc_auc_score
    from sklearn.model_selection import cross_val_score, train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    generator = np.random.default_rng(0)
    numbers = generator.normal(size=(40, 3))
    classes = (numbers[:, 0] > 0).astype(int)
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    frame["word"] = np.where(classes == 1, "yes", "no")
    text = io.StringIO()
    frame.to_csv(text, index=False)
    frame = pd.read_csv(io.StringIO(text.getvalue()))
    frame.groupby("word")["a"].mean()
    frame.merge(frame[["word"]].drop_duplicates(), on="word")
    frame.describe()
    str(frame)
    columns = ColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), ["word"]),
            ("numbers", StandardScaler(), ["a", "b", "c"]),
        ]
    )
    make_pipeline(columns, LogisticRegression()).fit(frame, classes).predict_proba(frame)
    left, right, _, _ = train_test_split(numbers, classes, test_size=0.5, random_state=0)
    for model in (
        LogisticRegression(),
        KNeighborsClassifier(),
        SVC(),
        RandomForestClassifier(n_estimators=2),
        HistGradientBoostingClassifier(max_iter=2),
    ):
        model.fit(numbers, classes).predict(numbers)
    for model in (
        LinearRegression(),
        Ridge(),
        RandomForestRegressor(n_estimators=2),
        GradientBoostingRegressor(n_estimators=2),
    ):
        model.fit(numbers, numbers[:, 1]).predict(numbers)
    cross_val_score(Ridge(), numbers, numbers[:, 1], cv=2)
    roc_auc_score(classes, numbers[:, 0])
    mean_squared_error(classes, numbers[:, 0])
    np.linalg.lstsq(numbers, classes, rcond=None)
