# Takes away what circumstances do to measurements and ranks individuals: `answers(a, b, t)`, by RULE.
import numpy as np

SHAPES = {
    "rise": lambda u: u - 0.5,
    "hump": lambda u: 4 * u * (1 - u) - 0.5,
    "fold": lambda u: abs(2 * u - 1) - 0.5,
    "step": lambda u: np.where(u > 0.6, 0.6, -0.4),
    "wave": lambda u: 0.6 * np.sin(2 * np.pi * u),
}


def cleaned(x):
    low, high = RULE["condition"]
    k = len(RULE["measures"])
    u = (x.iloc[:, k + 1].astype(float).to_numpy() - low) / (high - low)
    words = [one["word"] for one in RULE["words"]]
    w = [words.index(word) for word in x.iloc[:, k + 2]]
    acting = np.array([one["gain"] for one in RULE["words"]])[w] * SHAPES[RULE["shape"]](u)
    columns = []
    for n, one in enumerate(RULE["measures"]):
        low, high = one["range"]
        value = (x.iloc[:, n + 1].astype(float).to_numpy() - (low + high) / 2) / (high - low) * 10
        columns.append(value - one["load"] * acting - np.array(one["offsets"])[w])
    return np.column_stack(columns)


def answers(a, b, t):
    known, new = cleaned(a), cleaned(b)
    names = sorted(set(a[t]))
    means = np.array([known[(a[t] == name).to_numpy()].mean(0) for name in names])
    far = ((new[:, None] - means[None]) ** 2).sum(2)
    return [" ".join(names[i] for i in row[:5]) for row in far.argsort(1, kind="stable")]


