"""Reading scenes in colour. Follows sighting.rs, colours.rs, given.rs and features.rs."""

import io

import numpy as np
from PIL import Image

THUMBNAIL = 5
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
EDGES = [0.06, 0.15]
LAGS = [2, 4, 6]
TINY = 1e-9
LUMA = [19595, 38470, 7471]
COLOURED = [60, 110]
DEPTH = 0.12
RED = 138
LEAST = 0.003
EDGE = 0.55
CORE = 0.85
PIXEL = 1.0 / 12.0
HOLE = 0.015
PLACES = 48
BANDS = range(2, 7)


def colours(levels):
    """What any solver computes of the colours of a picture."""
    weak, middle, strong = np.moveaxis(np.sort(levels, axis=2), 2, 0)
    apart = strong - weak
    above = [apart > least for least in COLOURED]
    some = max(above[0].sum(), 1)
    between = ((middle - weak)[above[0]] / apart[above[0]]).sum() / some
    pale = (weak[above[0]] / strong[above[0]]).sum() / some
    spread = np.sqrt(max((apart * apart).mean() - apart.mean() ** 2, 0.0))
    return [apart.mean() / 255.0, spread / 255.0, above[0].mean(), above[1].mean(), between, pale]


def labelled(mask):
    """A number from 1 for each piece by the sides of its pixels, in order, and their number."""
    height, width = mask.shape
    padded = np.zeros((height, width + 2), int)
    padded[:, 1:-1] = mask
    change = np.diff(padded, axis=1)
    rows, starts = np.nonzero(change == 1)
    ends = np.nonzero(change == -1)[1]
    parents = list(range(len(rows)))

    def root(run):
        while parents[run] != run:
            run = parents[run]
        return run

    first = np.searchsorted(rows, np.arange(height + 1))
    for y in range(1, height):
        above, last = first[y - 1], first[y]
        for run in range(first[y], first[y + 1]):
            while above < last and ends[above] <= starts[run]:
                above += 1
            other = above
            while other < last and starts[other] < ends[run]:
                one, two = root(run), root(other)
                parents[max(one, two)] = min(one, two)
                other += 1
    roots = [root(run) for run in range(len(rows))]
    numbers = {own: index + 1 for index, own in enumerate(sorted(set(roots)))}
    labels = np.zeros((height, width), int)
    for run, own in enumerate(roots):
        labels[rows[run], starts[run] : ends[run]] = numbers[own]
    return labels, len(numbers)


def summed(grid):
    """The sums of three by three pixels; edges are repeated."""
    padded = np.pad(grid, 1, mode="edge")
    rows = padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
    return rows[:-2] + rows[1:-1] + rows[2:]


def lighting(grey, chosen):
    """Mean brightness of the chosen pixels, and how much brighter the right edge is."""
    side = len(grey)
    y, x = np.nonzero(chosen)
    u, level = 2.0 * (x + 0.5) / side - 1.0, grey[y, x]
    n, s, ss, t, p = len(u), u.sum(), (u * u).sum(), level.sum(), (u * level).sum()
    determinant = n * ss - s * s
    if determinant <= TINY:
        return [0.0, 0.0]
    return [(t * ss - p * s) / determinant, 2.0 * (n * p - s * t) / determinant]


def measure(levels, grey):
    """The statistics of a scene."""
    side = len(levels)
    difference = levels[:, :, 0] - levels[:, :, 2]
    border = np.ones((side, side), bool)
    border[1:-1, 1:-1] = False
    warm, cold = (0, 2) if np.sign(difference[border]).sum() <= 0 else (2, 0)
    red = summed(levels[:, :, warm] - levels[:, :, cold])
    labels, count = labelled(red > RED)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)
    first = np.bincount(labels.ravel(), red.ravel(), count + 1)
    second = np.bincount(labels.ravel(), (red * red).ravel(), count + 1)
    ground = first[0] / max(sizes[0], 1)
    strength = np.full(count + 1, np.inf)
    large = (sizes >= int(LEAST * side * side)) & (np.arange(count + 1) > 0)
    strength[large] = second[large] / first[large] - ground
    share = (red - ground) / strength[labels]
    inside = share > EDGE
    own = np.where(inside, labels, 0)
    rest, holes = labelled(~inside)
    open_ = np.zeros(holes + 1, bool)
    open_[np.unique(rest[border])] = True
    open_[0] = True
    hollow = np.zeros((side, side), int)
    _, corners = np.unique(rest.ravel(), return_index=True)
    names = np.unique(rest.ravel())
    for name, corner in zip(names, corners):
        if not open_[name]:
            y, x = divmod(int(corner), side)
            hollow[rest == name] = labels[y, x - 1]
    light = lighting(grey, (labels == 0) & (hollow == 0))
    filled = np.where(inside, own, hollow)
    y, x = np.nonzero(filled)
    of = filled[y, x]
    found = np.unique(of)
    if len(found) == 0:
        return [*light, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0]

    def total(index, weights=None):
        return np.bincount(index, weights, count + 1)[found]

    pixels = total(of)
    mean_x, mean_y = total(of, x) / pixels, total(of, y) / pixels
    a = total(of, x * x) / pixels - mean_x**2 + PIXEL
    b = total(of, x * y) / pixels - mean_x * mean_y
    c = total(of, y * y) / pixels - mean_y**2 + PIXEL
    half, apart = (a + c) / 2.0, np.sqrt(((a - c) / 2.0) ** 2 + b * b)
    long, wide = half + apart, np.maximum(half - apart, PIXEL)
    cosine, sine = (a - c) / 2.0 / np.maximum(apart, TINY), b / np.maximum(apart, TINY)

    core = inside & (share > CORE)
    r, g, k = (total(labels[core], levels[:, :, i][core]) for i in (warm, 1, cold))
    hue = 60.0 * (g.sum() - k.sum()) / max(r.sum() - k.sum(), 1.0)
    haze = np.maximum((k / np.maximum(r, 1.0) - DEPTH) / (1.0 - DEPTH), 0.0).mean()
    size = 100.0 / side * (2.0 * np.sqrt(pixels / np.pi)).mean()
    turn = np.arctan2((pixels * 2.0 * sine * cosine).sum(), (pixels * (cosine**2 - sine**2)).sum()) / 4.0

    hy, hx = np.nonzero(hollow)
    owner = hollow[hy, hx]
    marks = total(owner)
    some = marks >= HOLE * pixels
    right = 0.5
    if some.any():
        across = total(owner, hx)[some] / marks[some] - mean_x[some]
        down = total(owner, hy)[some] / marks[some] - mean_y[some]
        right = (across * np.cos(turn) + down * np.sin(turn) > 0.0).mean()

    near = int(np.argmax(pixels))
    angle = np.arctan2(sine[near], cosine[near]) / 2.0
    y, x = np.nonzero(own == found[near])
    at = (x - mean_x[near]) * np.cos(angle) + (y - mean_y[near]) * np.sin(angle)
    level = levels[y, x, warm].astype(float)
    low, high = at.min() - 0.5, at.max() + 0.5
    place = np.minimum(((at - low) / (high - low) * PLACES).astype(int), PLACES - 1)
    counts = np.bincount(place, minlength=PLACES)
    means = np.bincount(place, level, PLACES) / np.maximum(counts, 1)
    profile = np.where(counts > 0, means - level.mean(), 0.0)
    phase = 2.0 * np.pi * np.outer(list(BANDS), np.arange(PLACES) + 0.5) / PLACES
    power = (np.cos(phase) @ profile) ** 2 + (np.sin(phase) @ profile) ** 2
    bands = BANDS[int(np.argmax(power))] if power.max() > 0.0 else 0.0
    return [*light, hue, size, haze, len(found), np.sqrt(long / wide).mean(), np.degrees(turn), right, bands]


def read(data):
    """What solvers of three kinds make of a scene."""
    levels = np.array(Image.open(io.BytesIO(data)).convert("RGB")).astype(np.int64)
    grey = ((levels @ LUMA + (1 << 15)) >> 16) / 255.0
    tints = (levels[:, :, [0, 2]] - levels[:, :, [1]]) / 255.0
    spreads = zip(tints.mean(axis=(0, 1)).tolist(), tints.std(axis=(0, 1)).tolist())
    of_grey = generic(grey)
    features = of_grey[:20] + of_grey[26:28] + [value for pair in spreads for value in pair]
    features += colours(levels)
    estimates = measure(levels, grey)
    return plain(grey), [float(v) for v in features], [float(v) for v in estimates]
