"""One or several numbers per row, fitted on the scale that the metric asks for."""

RELATIVE = METRIC in ("rmsle", "mape", "smape")


def error(y, p):
    if METRIC == "rmsle":
        return np.mean((np.log1p(y) - np.log1p(np.maximum(p, 0))) ** 2)
    if METRIC == "mape":
        return np.mean(np.abs(y - p) / np.maximum(np.abs(y), 1e-9))
    if METRIC == "smape":
        return np.mean(2 * np.abs(y - p) / np.maximum(np.abs(y) + np.abs(p), 1e-9))
    return np.mean(np.abs(y - p)) if METRIC in ("mae", "median_ae") else np.mean((y - p) ** 2)


values = {}
for target in TARGETS:
    y = train[target].to_numpy(float)
    logarithmic = RELATIVE and y.min() > -1 + 1e-6 if METRIC == "rmsle" else RELATIVE and y.min() > 0
    there, back = (np.log1p, np.expm1) if METRIC == "rmsle" else (np.log, np.exp)
    unseen, predicted = blend(there(y) if logarithmic else y)
    p, q = unseen[:, 0], predicted[:, 0]
    if logarithmic:
        p, q = back(p), back(q)
    if METRIC in ("mape", "smape"):
        # Relative errors ask for guesses a little below the middle.
        factors = np.linspace(0.8, 1.1, 31)
        factor = factors[np.argmin([error(y, p * f) for f in factors])]
        q = q * (1 + factor) / 2
    values[target] = np.clip(q, *(y.min() - 0.3 * np.ptp(y), y.max() + 0.3 * np.ptp(y)))
    if METRIC == "rmsle":
        values[target] = np.maximum(values[target], 0)
submit(values)
