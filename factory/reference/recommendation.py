# Ranks items by gradient boosting over pairs of a row and an item: how often the item followed the
# last choices, for all rows and for rows with the same words, how often it was chosen, and where
# the row has it. Every choice in the training rows' lists is a row to learn from.
import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

a, b, s = (
    pd.read_csv(f"input/{name}.csv", keep_default_na=False)
    for name in ("train", "test", "sample_submission")
)
t = s.columns[1]
columns = list(b.columns[1:])
history = next(c for c in columns if b[c].astype(str).str.contains(" ").all())
words = [c for c in columns if c != history and not pd.api.types.is_numeric_dtype(b[c])]
number = next(c for c in columns if c != history and c not in words)
lists = [row.split() + [last] for row, last in zip(a[history], a[t])]
items = sorted({item for row in lists for item in row})
place = {item: n for n, item in enumerate(items)}
lists = [[place[item] for item in row] for row in lists]
size, lags = len(items), (1, 2, 3, 4, 5)
# Halves of the number count as a word of their own.
middle = a[number].median()


def contexts(frame):
    facts = [frame[c].astype(str).to_numpy() for c in words]
    side = np.where(frame[number] > middle, "above", "below")
    pairs = [np.char.add(fact.astype(str), side) for fact in facts]
    return np.column_stack([np.full(len(frame), ""), *facts, *pairs])


def counted(rows, context):
    """How often an item was chosen, and followed another one, in each context."""
    chosen, follows = {}, {}
    for row, names in zip(rows, context):
        for column, name in enumerate(names):
            key = (column, name)
            count = chosen.setdefault(key, np.ones(size) / size)
            after = follows.setdefault(key, np.zeros((len(lags), size, size)))
            np.add.at(count, row, 1)
            for n, lag in enumerate(lags):
                np.add.at(after[n], (row[:-lag], row[lag:]), 1)
    return chosen, follows


def features(row, names, counts):
    chosen, follows = counts
    parts = []
    for key in enumerate(names):
        share = chosen[key] / chosen[key].sum() if key in chosen else np.zeros(size)
        parts.append(share)
        for n, lag in enumerate(lags):
            after = follows[key][n][row[-lag]] if key in follows else np.zeros(size)
            parts.append((after + 3 * share) / (after.sum() + 3))
    ago = np.full(size, 12.0)
    for back, item in reversed(list(enumerate(reversed(row), 1))):
        ago[item] = back
    return np.column_stack([*parts, ago])


known, new = contexts(a), contexts(b)
x, y = [], []
folds = np.arange(len(a)) % 4
for fold in range(4):
    rest = [n for n in range(len(a)) if folds[n] != fold]
    counts = counted([lists[n] for n in rest], known[rest])
    for n in np.flatnonzero(folds == fold):
        for end in range(5, len(lists[n])):
            x.append(features(lists[n][:end], known[n], counts))
            y.append(np.arange(size) == lists[n][end])
model = HistGradientBoostingClassifier(max_iter=120, learning_rate=0.1, random_state=0)
model.fit(np.vstack(x), np.concatenate(y))
counts = counted(lists, known)
answers = []
for row, names in zip(b[history], new):
    row = [place[item] for item in row.split() if item in place]
    scores = model.predict_proba(features(row, names, counts))[:, 1]
    answers.append(" ".join(items[n] for n in (-scores).argsort(kind="stable")[:5]))
s[t] = answers
s.to_csv("submission.csv", index=False)
