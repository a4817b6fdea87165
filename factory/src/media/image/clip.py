

# Reading clips. Follows clip.rs.

from PIL import ImageSequence

FRAMES = 8
SEEN = 0.5


def pixels_of(data):
    """The frames of a TIFF file, or of PNG files that stand one after the other."""
    begin = b"\x89PNG\r\n\x1a\n"
    if data.startswith(begin):
        return [np.asarray(Image.open(io.BytesIO(begin + part))) for part in data.split(begin)[1:]]
    return [np.asarray(frame) for frame in ImageSequence.Iterator(Image.open(io.BytesIO(data)))]


def frames_of(data):
    """The times and frames of which enough was measured, with what was measured of them."""
    for time, pixels in enumerate(pixels_of(data)):
        valid = (pixels > 0) & (pixels < 255)
        if valid.mean() >= SEEN:
            yield time, pixels / 255.0, valid


def course(times, values):
    """Value halfway and slope of the straight line through values over time."""
    times, values = np.asarray(times, float), np.asarray(values, float)
    off = times - times.mean()
    slope = (off * (values - values.mean())).sum() / max((off * off).sum(), TINY)
    return values.mean() + slope * ((FRAMES - 1) / 2.0 - times.mean()), slope


def read(data):
    """What solvers of three kinds make of a clip of things that drift."""
    seen = list(frames_of(data))
    if not seen:
        blank = np.zeros((56, 56))
        return plain(blank), generic(blank) + [0.0, 0.0], [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    middle, first, last = seen[len(seen) // 2][1], seen[0][1], seen[-1][1]
    between = [last.mean() - first.mean(), np.abs(last - first).mean()]
    times = [time for time, _, _ in seen]
    measured = [measure(grey, valid) for _, grey, valid in seen]
    level, brightening = course(times, [one[0] for one in measured])
    estimates = [level, (FRAMES - 1) * brightening, np.mean([one[1] for one in measured])]
    counts = [one[2][0] for one in measured]
    count = sorted(counts)[len(counts) // 2]
    whole = [place for place in range(len(measured)) if counts[place] == count and count > 0]
    if whole:
        times = [times[place] for place in whole]
        right, down = (course(times, [measured[place][3][axis] for place in whole])[1] for axis in (0, 1))
        size, growth = course(times, np.log([measured[place][2][1] for place in whole]))
        estimates += [count, np.exp(size), np.hypot(right, down), np.degrees(np.arctan2(down, right))]
        estimates += [np.exp((FRAMES - 1) * growth)]
    else:
        estimates += [0.0, 0.0, 0.0, 0.0, 1.0]
    generics = generic(middle) + [float(value) for value in between]
    return plain(middle), generics, [float(value) for value in estimates]
