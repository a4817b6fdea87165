"""Reading pictures: what any solver computes of them. Follows picture.rs and features.rs."""

import io

import numpy as np
from PIL import Image
from scipy import ndimage

MARGIN = {"PNG": 0, "JPEG": 6}
THUMBNAIL = 5
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
EDGES = [0.06, 0.15]
LAGS = [2, 4, 6]
TINY = 1e-9
AROUND = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], dtype=bool)


def decode(data):
    """Grey values from 0 to 1, and which pixels were measured."""
    picture = Image.open(io.BytesIO(data))
    pixels, margin = np.asarray(picture), MARGIN[picture.format]
    green = pixels if pixels.ndim == 2 else pixels[:, :, 1]
    return green / 255.0, (green > margin) & (green < 255 - margin)


def plain(grey):
    """The means of a 5 by 5 thumbnail."""
    side = len(grey)
    cell = np.arange(side) * THUMBNAIL // side
    starts = np.searchsorted(cell, np.arange(THUMBNAIL))
    sums = np.add.reduceat(np.add.reduceat(grey, starts, axis=0), starts, axis=1)
    counts = np.bincount(cell)
    return (sums / np.outer(counts, counts)).ravel().tolist()


def shape(values):
    """Mean, standard deviation, skewness and excess kurtosis."""
    mean = values.mean()
    d = values - mean
    square = d * d
    second, third, fourth = square.mean(), (square * d).mean(), (square * square).mean()
    spread = np.sqrt(second)
    if spread < TINY:
        return mean, 0.0, 0.0, 0.0
    return mean, spread, third / (second * spread), fourth / (second * second) - 3.0


def curvature(grid):
    """Laplace's operator on inner pixels."""
    sides = grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] + grid[2:, 1:-1]
    return sides - 4.0 * grid[1:-1, 1:-1]


def halved(grid):
    """The means of two by two pixels."""
    half = len(grid) // 2 * 2
    grid = grid[:half, :half]
    return (grid[::2, ::2] + grid[::2, 1::2] + grid[1::2, ::2] + grid[1::2, 1::2]) / 4.0


def generic(grey):
    """Histogram, slopes, curvature, spread at four scales, likeness of neighbours, light."""
    mean, spread, skew, peak = shape(grey)
    ordered = np.sort(grey, axis=None)
    features = [mean, spread, skew, peak]
    features += [ordered[int(share * (ordered.size - 1))] for share in QUANTILES]

    here = grey[:-1, :-1]
    across, down = grey[:-1, 1:] - here, grey[1:, :-1] - here
    steepness = across * across + down * down
    features += [np.abs(across).mean(), np.abs(down).mean()]
    features += [(steepness > edge * edge).mean() for edge in EDGES]

    halves = halved(grey)
    _, roughness, _, spikes = shape(curvature(grey))
    features += [roughness, spikes, shape(curvature(halves))[1]]
    quarters = halved(halves)
    features += [shape(grid)[1] for grid in (halves, quarters, halved(quarters))]

    rest = grey - mean
    variance = max(spread * spread, TINY)
    for lag in LAGS:
        features.append((rest[:, :-lag] * rest[:, lag:]).mean() / variance)
        features.append((rest[:-lag] * rest[lag:]).mean() / variance)
    along = coordinates(len(grey))
    features += [grey.mean(axis=0) @ along / len(grey), grey.mean(axis=1) @ along / len(grey)]
    return [float(value) for value in features]


def coordinates(side):
    """Columns or rows as coordinates from -1 to 1."""
    return 2.0 * np.arange(side) / (side - 1) - 1.0


def plane(grid, marked):
    """Middle and slopes (per half side) of the least-squares plane through the marked pixels."""
    along = coordinates(len(grid))
    rows, columns = np.nonzero(marked)
    x, y = along[columns], along[rows]
    terms = np.stack([np.ones(len(x)), x, y, grid[marked]])
    normal = (terms @ terms.T)[:3]
    for pivot in range(3):
        if normal[pivot, pivot] < 1e-12:
            continue
        for index in range(3):
            if index != pivot:
                normal[index] -= normal[index, pivot] / normal[pivot, pivot] * normal[pivot]
    return [
        normal[index, 3] / normal[index, index] if normal[index, index] >= 1e-12 else 0.0
        for index in range(3)
    ]


def without_plane(grid, level):
    """What is left above a plane."""
    along = coordinates(len(grid))
    return grid - (level[0] + level[1] * along[None, :] + level[2] * along[:, None])


def around(values):
    """The sums of the eight neighbours that exist."""
    padded = np.pad(values, 1)
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - values
