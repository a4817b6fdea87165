"""Several models of `columns`, weighted by how well they do on rows that they have not seen.

`blend(Y, folds)` fits every column of Y and returns out-of-fold predictions for the training
rows and predictions for the test rows; probabilities are fitted as numbers 0 and 1.
"""
from scipy.optimize import nnls
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import RidgeCV

X = pd.DataFrame(columns).astype(float)
X = X.loc[:, X[:N].std() > 1e-9]
MANY = X.shape[1] > 150
ALPHAS = np.geomspace(0.3, 3000, 9)


def scaled(a, b):
    mean, spread = a.mean(axis=0), a.std(axis=0) + 1e-9
    return np.clip((a - mean) / spread, -3, 3), np.clip((b - mean) / spread, -3, 3)


def strongest(a, Y, count):
    """The columns that go most with any target, none of them a copy of a stronger one."""
    z = (a - a.mean(axis=0)) / (a.std(axis=0) + 1e-9)
    t = (Y - Y.mean(axis=0)) / (Y.std(axis=0) + 1e-9)
    order = np.argsort(-np.abs(z.T @ t / len(z)).max(axis=1))
    kept = []
    for column in order[: 4 * count]:
        if all(abs(z[:, column] @ z[:, other]) / len(z) < 0.95 for other in kept):
            kept.append(column)
        if len(kept) == count:
            break
    return kept


def line(a, Y, b):
    a, b = scaled(a, b)
    keep = strongest(a, Y, 40)
    return RidgeCV(ALPHAS).fit(a[:, keep], Y).predict(b[:, keep])


def products(a, Y, b):
    a, b = scaled(a, b)
    keep = strongest(a, Y, 12)
    a, b = a[:, keep], b[:, keep]
    upper = np.triu_indices(a.shape[1])
    more = [np.hstack([v, v[:, upper[0]] * v[:, upper[1]], v > 0.7, v < -0.7]) for v in (a, b)]
    a, b = scaled(*more)
    return RidgeCV(ALPHAS).fit(a, Y).predict(b)


def kernel(a, Y, b):
    """Kernel ridge regression; width and penalty by the closed form of leaving one row out."""
    a, b = scaled(a, b)
    keep = strongest(a, Y, 15)
    a, b, mean = a[:, keep], b[:, keep], Y.mean(axis=0)
    apart = lambda u, v: np.maximum(0, (u**2).sum(1)[:, None] + (v**2).sum(1) - 2 * u @ v.T)
    near, far = apart(a, a), apart(b, a)
    best = None
    for width in (0.5, 1.0, 2.0):
        gamma = width / (2 * len(keep))
        values, vectors = np.linalg.eigh(np.exp(-gamma * near))
        for penalty in (0.1, 0.3, 1.0, 3.0):
            inverse = vectors / (np.maximum(values, 0) + penalty) @ vectors.T
            weights = inverse @ (Y - mean)
            error = ((weights / np.diag(inverse)[:, None]) ** 2).sum()
            if best is None or error < best[0]:
                best = error, gamma, weights
    _, gamma, weights = best
    return np.exp(-gamma * far) @ weights + mean


def forest(a, Y, b):
    """Deep random trees; a row's own prediction comes from the trees that were grown without it."""
    spread = Y.std(axis=0) + 1e-9
    model = ExtraTreesRegressor(120, min_samples_leaf=2, max_features=0.25 if MANY else 0.5,
                                bootstrap=True, oob_score=True, random_state=0)
    model.fit(a, Y[:, 0] / spread if Y.shape[1] == 1 else Y / spread)
    held, ahead = model.oob_prediction_, model.predict(b)
    return held.reshape(Y.shape) * spread, ahead.reshape(len(b), -1) * spread


def blend(Y, folds=4, order=None):
    Y = np.asarray(Y, float).reshape(N, -1)
    a, b = X.to_numpy()[:N], X.to_numpy()[N:]
    members = [line, products, kernel]
    fold = np.random.default_rng(0).permutation(N) % folds if order is None else order
    held = np.zeros((len(members), *Y.shape))
    for f in np.unique(fold):
        out, left = fold == f, fold != f
        for m, member in enumerate(members):
            held[m, out] = np.reshape(member(a[left], Y[left], a[out]), (out.sum(), -1))
    ahead = [np.reshape(member(a, Y, b), (len(b), -1)) for member in members]
    grown = forest(a, Y, b)
    held, ahead = np.concatenate([held, grown[:1]]), [*ahead, grown[1]]
    unseen, predicted = np.zeros_like(Y), np.zeros((len(b), Y.shape[1]))
    for k in range(Y.shape[1]):
        mean = Y[:, k].mean()
        # A pinch of every member keeps the weights from following the noise of few rows.
        pinch = 0.1 * np.sqrt(((Y[:, k] - mean) ** 2).sum())
        rows = np.vstack([held[:, :, k].T - mean, pinch * np.eye(len(held))])
        aim = np.concatenate([Y[:, k] - mean, np.full(len(held), pinch / len(held))])
        weights = nnls(rows, aim)[0]
        unseen[:, k] = mean + weights @ (held[:, :, k] - mean)
        predicted[:, k] = mean + weights @ np.array([p[:, k] - mean for p in ahead])
    return unseen, predicted


def submit(values):
    pd.DataFrame({ID: sample[ID], **values}).to_csv("submission.csv", index=False)

