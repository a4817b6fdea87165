"""Three quantiles per row: a middle, how far rows lie from it, and the quantiles of what is left."""

LEVELS = (0.1, 0.5, 0.9)


def loss(y, quantiles):
    return np.mean([np.maximum(a * (y - q), (a - 1) * (y - q)).mean() for a, q in zip(LEVELS, quantiles)])


def fitted(y):
    """Quantiles of the training rows, from models that have not seen them, and of the test rows."""
    unseen, predicted = blend(y)
    left = y - unseen[:, 0]
    near, far = blend(np.log(np.abs(left) + 0.1 * left.std()))
    best = None
    # Widths are known worse than middles: the least of them that helps is drawn towards one for all.
    for power in (0.0, 0.5, 1.0, 1.5):
        width, ahead = np.exp(power * near[:, 0]), np.exp(power * far[:, 0])
        ends = np.quantile(left / width, LEVELS)
        held = [unseen[:, 0] + end * width for end in ends]
        if best is None or loss(y, held) < loss(y, best[0]):
            best = held, [predicted[:, 0] + end * ahead for end in ends]
    return best


y = train[TARGETS[0]].to_numpy(float)
held, ahead = fitted(y)
if y.min() > 0:
    logs = [[np.exp(q) for q in side] for side in fitted(np.log(y))]
    if loss(y, logs[0]) < loss(y, held):
        ahead = logs[1]
submit(dict(zip(sample.columns[1:], ahead)))
