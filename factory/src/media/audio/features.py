# What solvers compute who have not listened.


def plain(samples):
    segments = samples.reshape(SEGMENTS, -1)
    below = segments < 0.0
    crossings = (below[:, 1:] != below[:, :-1]).mean(axis=1)
    size = np.abs(samples)
    return [
        decibels(np.mean(samples**2)),
        *decibels(np.mean(segments**2, axis=1)),
        crossings.mean(),
        *crossings,
        size.max(),
        np.abs(np.diff(samples)).mean(),
        size.mean(),
    ]


@lru_cache(maxsize=None)
def lag_cosines():
    return np.cos(2.0 * np.pi * (np.outer(LAGS, np.arange(BINS)) % FRAME) / FRAME)


def generic(samples, power):
    count = len(power)
    bands = decibels(np.add.reduceat(power, EDGES[:-1], axis=1))
    profile = bands.mean(axis=0)
    thirds = np.add.reduceat(power, [0, count // 3, 2 * count // 3], axis=0)
    totals = thirds.sum(axis=1) + TINY
    course = decibels(totals)
    whole = power.sum(axis=0) / count + TINY
    likeness = lag_cosines() @ whole / whole.sum()
    return [
        *(profile - profile.mean()),
        *bands[:, 1::2].std(axis=0),
        *(thirds @ np.arange(BINS) / totals),
        *(course[1:] - course[0]),
        np.sum(np.cumsum(whole) < 0.85 * whole.sum()),
        LAGS[np.argmax(likeness)],
        likeness.max(),
        np.log(whole).mean() - np.log(whole.sum() / BINS),
        np.abs(np.diff(bands, axis=0)).mean(),
        decibels(np.mean(samples**2)),
        decibels(np.abs(samples).max() ** 2),
    ]


