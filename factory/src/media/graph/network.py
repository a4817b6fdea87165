"""Reads a graph's file back: what a straight line, a forest and a careful solver make of it."""

import numpy as np

FAINT = 0.2
RECORDED = 0.966
MASK = 0xFFFF_FFFF


def read(data):
    """Returns the lists (plain, generic, estimates) of a file's bytes."""
    rows = [row.split(",") for row in data.decode().splitlines()[1:]]
    numbers = {}
    ends = np.array([[numbers.setdefault(name, len(numbers)) for name in row[:2]] for row in rows])
    source, target = ends.T
    weight = np.array([float(row[2]) for row in rows])
    kinds = ["".join(c for c in name if c.isascii() and c.isalpha()) for name in numbers]
    _, kind = np.unique(kinds, return_inverse=True)
    sheet = (len(numbers), source, target, weight)
    return plain(*sheet), generic(*graph(*sheet, 0.0)), estimates(sheet, kind)


def graph(nodes, source, target, weight, least):
    """The lines of a simple graph, each pair's first one, and who links to whom."""
    keep = np.flatnonzero((source != target) & (weight >= least))
    pair = np.minimum(source, target)[keep] * nodes + np.maximum(source, target)[keep]
    keep = keep[np.sort(np.unique(pair, return_index=True)[1])]
    source, target, weight = source[keep], target[keep], weight[keep]
    to = np.zeros((nodes, nodes))
    to[source, target] = 1.0
    return nodes, source, target, weight, to, to + to.T


def plain(nodes, source, target, weight):
    degree = np.bincount(np.concatenate([source, target]), minlength=nodes).astype(float)
    bins = np.bincount(np.searchsorted([2.0, 4.0, 6.0, 9.0], degree), minlength=5) / nodes
    return [
        float(nodes),
        float(len(source)),
        *map(float, (degree.mean(), degree.min(), degree.max(), degree.var())),
        *bins.tolist(),
        float(weight.mean()),
        float(weight.std()),
    ]


def generic(nodes, source, target, weight, to, near):
    degree, received, sent = near.sum(1), to.sum(0), to.sum(1)
    between = ((near @ near) * near).sum(1)
    wedges = degree * (degree - 1.0)
    local = np.divide(between, wedges, out=np.zeros(nodes), where=wedges > 0)
    ends = np.concatenate([source, target])
    strength = np.bincount(ends, np.concatenate([weight, weight]), minlength=nodes)
    flows = [received.std(), received.max(), sent.std(), sent.max(), correlation(received, sent)]
    features = [
        len(source),
        nodes,
        *np.quantile(degree, [0.1, 0.25, 0.5, 0.75, 0.9]),
        degree.max(),
        degree.std(),
        *flows,
        between.sum() / wedges.sum() if wedges.sum() > 0 else 0.0,
        local.mean(),
        *core(nodes, near),
        *paths(nodes, near),
        correlation(degree[ends], degree[np.concatenate([target, source])]),
        weight.mean() if len(weight) else 0.0,
        weight.std() if len(weight) else 0.0,
        strength.max() / weight.sum() if len(weight) else 0.0,
        *labels(nodes, degree, near),
    ]
    return [float(value) for value in features]


def correlation(left, right):
    if len(left) == 0 or left.std() < 1e-9 or right.std() < 1e-9:
        return 0.0
    return np.mean((left - left.mean()) * (right - right.mean())) / (left.std() * right.std())


def core(nodes, near):
    """The largest core number, and the share of nodes in that core."""
    alive = np.ones(nodes, bool)
    least = 0
    while True:
        inside = alive.sum()
        least += 1
        while True:
            weak = alive & (near @ alive < least)
            if not weak.any():
                break
            alive &= ~weak
        if not alive.any():
            return [least - 1, inside / nodes]


def paths(nodes, near):
    """Components, share of the largest, mean and largest distance."""
    reached = np.eye(nodes, dtype=bool)
    rim, distance, total, pairs = reached, 0, 0.0, 0.0
    while True:
        rim = (rim.astype(float) @ near > 0) & ~reached
        count = rim.sum()
        if count == 0:
            break
        distance += 1
        reached = reached | rim
        total += distance * count
        pairs += count
    components = np.sum(reached.argmax(1) == np.arange(nodes))
    mean = total / pairs if pairs else 0.0
    return [components, reached.sum(1).max() / nodes, mean, distance]


def labels(nodes, degree, near):
    """Shares of the nodes by label after one round of Weisfeiler-Lehman refinement."""
    mixed = (degree.astype(np.uint64) * np.uint64(2_654_435_761)) & np.uint64(MASK)
    mixed ^= mixed >> np.uint64(15)
    label = (np.uint64(31) * mixed + near.astype(np.uint64) @ mixed) & np.uint64(MASK)
    bins = ((label >> np.uint64(8)) % np.uint64(6)).astype(int)
    return np.bincount(bins, minlength=6) / nodes


def estimates(sheet, kind):
    least = FAINT * np.median(sheet[3])
    _, source, target, weight, to, near = graph(*sheet, least)
    degree = near.sum(1)
    known = degree[degree > 0]
    mean, variance = (known.mean(), known.var()) if len(known) else (0.0, 0.0)
    rises = degree[target] - degree[source]
    whole = np.abs(rises).sum()
    common = (near @ near)[source, target]
    closed = common > 0
    links, sides = max(len(source), 1), closed.sum()
    # A line source -> target is closed to a circle by every path from target back to source.
    round_trips = (to @ to)[target, source].sum()
    if 0 < sides < len(source):
        logs = np.log(weight)
        lost = sides * (1.0 / (RECORDED * RECORDED) - 1.0)
        bond = logs[closed].mean() - logs[~closed].mean()
        bond /= 1.0 - min(lost / (len(source) - sides), 0.5)
    else:
        bond = 0.0
    hubs = np.sqrt(max(variance - (1.0 - RECORDED) * mean, 0.0)) / mean if mean > 0 else 0.0
    values = [
        mean / RECORDED,
        hubs,
        sides / links / (RECORDED * RECORDED),
        rises.sum() / whole if whole > 0 else 0.0,
        round_trips / common.sum() if common.sum() > 0 else 0.5,
        np.mean(kind[source] == kind[target]) if len(source) else 0.0,
        bond,
    ]
    return [float(value) for value in values]
