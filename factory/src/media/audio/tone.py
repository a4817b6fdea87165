# Following the tone.


def estimates(samples, power):
    pitch, chirp = coarse_track(power)
    pitch, chirp = refined(pitch, chirp, followed(samples, pitch, chirp, 3))
    partials = followed(samples, pitch, chirp, PARTIALS)
    pitch, chirp = refined(pitch, chirp, partials)
    partials = aligned(partials)
    shared = partials.real[:SHARED].sum(axis=0)
    swell, depth, rate = tremolo(shared)
    loudness, falloff, hollowness = timbre(partials, shared)
    return [loudness, swell, pitch, falloff, depth, rate, 100.0 * chirp, clicks(samples), hollowness]


@lru_cache(maxsize=None)
def grid(count):
    """Pitches, chirps, and where their partials lie in a flat spectrogram of `count` frames."""
    pitches = 170.0 * np.cumprod([1.0] + [1.02] * 36)
    chirps = 0.08 * np.arange(-4, 5)
    u = (np.arange(count) + 1.0) / (count + 1.0) - 0.5
    tracks = pitches[:, None, None] * (1.0 + chirps[:, None] * u)
    bins = tracks[:, :, None, :] * np.arange(1, 5)[:, None] * FRAME / RATE + 0.5
    return pitches, chirps, bins.astype(np.int64) + np.arange(count) * BINS


def coarse_track(power):
    pitches, chirps, places = grid(len(power))
    score = np.sqrt(power).ravel()[places].sum(axis=3) @ np.array([1.0, 0.8, 0.64, 0.512])
    row, column = np.unravel_index(np.argmax(score), score.shape)
    return pitches[row], chirps[column]


def followed(samples, pitch, chirp, partials):
    """The complex envelope of every partial along the track."""
    count = len(samples)
    # The phase of sample t is first * t + curve * t * t; with t = BLOCK * b + j, all but one part
    # of it belongs to the block b or to the place j alone.
    first = 2.0 * np.pi * pitch / RATE * (1.0 - 0.5 * chirp)
    curve = np.pi * pitch / RATE * chirp / count
    start, place = np.arange(0, count, BLOCK), np.arange(BLOCK)
    unit = np.empty((len(start), BLOCK), dtype=complex)
    unit[:, 0] = np.exp(-1j * (first + curve * start) * start)
    unit[:, 1:] = np.exp(-2j * curve * start)[:, None]
    unit = np.cumprod(unit, axis=1) * np.exp(-1j * (first + curve * place) * place)
    turned, blocks = samples.reshape(-1, BLOCK), []
    for _ in range(partials):
        turned = turned * unit
        blocks.append(turned @ ONES)
    # Windows are two hops long.
    hops = np.array(blocks).reshape(partials, -1, HOP)
    window = hann(WINDOW, 0.5) / (WINDOW / 2 * BLOCK)
    return (hops @ window[:HOP])[:, :-1] + (hops @ window[HOP:])[:, 1:]


def refined(pitch, chirp, envelopes):
    """The track that the partials really take, from how they turn against this one."""
    pairs = envelopes[:, 1:] * np.conj(envelopes[:, :-1])
    partials, count = pairs.shape
    edges = -(-np.arange(9) * count // 8)
    turn = np.add.reduceat(pairs, edges[:-1], axis=1)
    k = np.arange(1, partials + 1)[:, None]
    hertz = np.angle(turn) / (2.0 * np.pi * INTERVAL * k)
    weight = np.abs(turn) * k * k
    u = (0.5 * (edges[1:] + edges[:-1]) + 1.0) / (count + 2.0) - 0.5
    total = weight.sum() + TINY * TINY
    mean_u, mean = (weight * u).sum() / total, (weight * hertz).sum() / total
    spread = (weight * (u - mean_u) ** 2).sum() + TINY * TINY
    slope = (weight * (u - mean_u) * (hertz - mean)).sum() / spread
    middle = pitch + mean - slope * mean_u
    return middle, (pitch * chirp + slope) / middle


def aligned(envelopes):
    """The envelopes turned so that the tone is real and positive, and noise half imaginary."""
    smooth = np.convolve(envelopes[0], np.ones(9), mode="same")
    back = np.conj(smooth) / (np.abs(smooth) + TINY)
    steady = envelopes * np.cumprod(np.broadcast_to(back, envelopes.shape), axis=0)
    mean = steady.mean(axis=1, keepdims=True)
    return steady * np.conj(mean) / (np.abs(mean) + TINY)


# Measuring it.


def fit(values, first, second):
    """Two coefficients by least squares, and what they explain."""
    aa, bb = (first**2).sum(axis=-1) + TINY, (second**2).sum(axis=-1) + TINY
    ab, ay, by = (first * second).sum(axis=-1), first @ values, second @ values
    determinant = aa * bb - ab * ab
    a, b = (bb * ay - ab * by) / determinant, (aa * by - ab * ay) / determinant
    return a, b, a * ay + b * by


def flat(values):
    """Without mean and line."""
    u = np.arange(values.shape[-1]) - 0.5 * (values.shape[-1] - 1)
    values = values - values.mean(axis=-1, keepdims=True)
    return values - (values @ u)[..., None] / (u @ u) * u


def swings(rates, count):
    turns = 2.0 * np.pi * INTERVAL * np.asarray(rates)[..., None] * np.arange(count)
    return np.cos(turns), np.sin(turns)


@lru_cache(maxsize=None)
def coarse_swings(count):
    rates = 4.0 + 0.5 * np.arange(26)
    cosine, sine = swings(rates, count)
    return rates, flat(cosine), flat(sine)


def vertex(left, middle, right):
    bend = left - 2.0 * middle + right
    return 0.0 if bend > -TINY else min(max(0.5 * (left - right) / bend, -1.0), 1.0)


def tremolo(shared):
    count = len(shared)
    level = 2.0 * decibels(np.maximum(shared, 0.05 * shared.mean()))
    level = level - level.mean()
    rest = flat(level)
    rates, cosine, sine = coarse_swings(count)
    power = fit(rest, cosine, sine)[2]
    best = 1 + int(np.argmax(power[1:-1]))
    coarse = rates[best] + 0.5 * vertex(*power[best - 1 : best + 2])
    cosine, sine = swings([coarse - 0.15, coarse, coarse + 0.15], count)
    rate = coarse + 0.15 * vertex(*fit(rest, flat(cosine), flat(sine))[2])
    cosine, sine = swings(rate, count)
    a, b, _ = fit(rest, flat(cosine), flat(sine))
    u = np.arange(count) - 0.5 * (count - 1)
    slope = (level - a * cosine - b * sine) @ u / (u @ u)
    return slope * (count + 1), np.sqrt(a * a + b * b), rate


def timbre(partials, shared):
    size = partials.real.mean(axis=1) ** 2
    noise = (partials.imag**2).mean(axis=1)
    powers = np.maximum(size - 3.0 * noise / partials.shape[1], 0.1 * size)
    swing = np.mean(np.maximum(shared, 0.0) ** 2) / (shared.mean() ** 2 + TINY)
    k = np.arange(1, COMPARED + 1)
    octaves, even = np.log2(k), k % 2 == 0
    slope, step, _ = fit(decibels(powers[:COMPARED]), octaves - octaves.mean(), even - even.mean())
    return decibels(2.0 * swing * powers.sum()), -slope, -step


@lru_cache(maxsize=None)
def carrier(length):
    """What turns the band around 3200 Hz to frequency 0."""
    angle = 2.0 * np.pi * (2 * np.arange(length) % 5) / 5.0
    return np.cos(angle) - 1j * np.sin(angle)


def clicks(samples):
    """The number of moments at which the band around 3200 Hz flares up."""
    blocks = (samples * carrier(len(samples))).reshape(-1, 8).sum(axis=1)
    level = np.abs(np.convolve(blocks, hann(WINDOW, 0.5), mode="valid"))
    floor = np.partition(level, len(level) // 4)[len(level) // 4]
    loudest = maximum_filter1d(level, 2 * REACH + 1, mode="constant")
    return np.sum((level >= loudest) & (level > floor + 0.5 * (level.max() - floor)))
