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


