import numpy as np

PRIOR = 2.0


def network():
    """All rows' ids, the classes of the first ones, and which rows the links join."""
    a, b = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
    key = pd.read_csv("input/sample_submission.csv", nrows=0).columns[0]
    place = {name: row for row, name in enumerate(pd.concat([a[key], b[key]]))}
    ends = pd.read_csv("input/edges.csv").map(place.get).values.T
    return len(place), a[a.columns.difference(b.columns)[0]], ends


def near(x):
    """Each column's mean over a row's neighbours."""
    rows, _, (s, t) = network()
    v, sums = x.values, np.zeros(x.shape)
    np.add.at(sums, s, v[t])
    np.add.at(sums, t, v[s])
    count = np.bincount(np.r_[s, t], minlength=rows)[:, None]
    return np.where(count > 0, sums / np.maximum(count, 1), v.mean(0))


def items(x):
    """What is read of each row's place in the network."""
    rows, y, (s, t) = network()
    m = np.zeros((rows, rows))
    m[s, t] = m[t, s] = 1
    degree = m.sum(1)
    known = pd.get_dummies(y).values.astype(float)
    share = (m[:, : len(y)] @ known + PRIOR * known.mean(0)) / (m[:, : len(y)].sum(1) + PRIOR)[:, None]
    parts = [degree, m @ degree / np.maximum(degree, 1), ((m @ m) * m).sum(1) / 2, *share.T]
    return np.column_stack(parts)


def read(i):
    return [], i, []
