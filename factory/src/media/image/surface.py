

# Reading stripes. Follows stripes.rs.

SPECK_HEIGHT = 0.08
PERIODS = (4.8, 12.5)
REACH = 2
MEASURED = 0.4
HEIGHT_QUANTILE = 0.7
SMALL = 1e-12


def without_specks(grey, valid, rest):
    """Specks per thousand measured pixels, and the rest with specks levelled."""
    known = np.where(valid, grey, 0.0)
    highest = ndimage.maximum_filter(known, footprint=AROUND, mode="constant", cval=0.0)
    specks = valid & (grey - highest > SPECK_HEIGHT)
    density = 1000.0 * specks.sum() / max(valid.sum(), 1)
    if specks.any():
        levels = around(rest) / np.maximum(around(valid.astype(float)), 1.0)
        rest = np.where(specks, levels, rest)
    return density, rest


def power_of(rest, most):
    """Power at frequencies 0..most across (outer) and -most..most down (inner)."""
    side = len(rest)
    turn = 2.0 * np.pi / side * np.arange(side)
    window = 0.5 - 0.5 * np.cos(turn)
    windowed = rest * window[None, :] * window[:, None]
    across = np.exp(-1j * np.outer(turn, np.arange(most + 1)))
    down = np.exp(-1j * np.outer(np.arange(-most, most + 1), turn))
    return np.abs(down @ (windowed @ across)).T ** 2


def summit(before, here, after):
    """Where the parabola through three logarithms of power has its top."""
    a, b, c = (np.log(power + SMALL) for power in (before, here, after))
    bend = a - 2.0 * b + c
    return 0.0 if bend > -SMALL else float(np.clip(0.5 * (a - c) / bend, -0.5, 0.5))


def strongest(rest):
    """The frequency with the highest power, in cycles per side across and down."""
    side = len(rest)
    longest = int(side / PERIODS[0]) + 1
    middle = longest + 1
    power = power_of(rest, middle)
    across, down = np.arange(longest + 1), np.arange(1, 2 * longest + 2)
    square = across[:, None] ** 2 + (down[None, :] - middle) ** 2
    low, high = side / PERIODS[1], side / PERIODS[0]
    inside = (square >= low * low) & (square <= high * high)
    searched = np.where(inside, power[: longest + 1, 1 : 2 * longest + 2], 0.0)
    x, y = 1, middle
    if searched.max() > 0.0:
        x, y = np.unravel_index(np.argmax(searched), searched.shape)
        y += 1
    before = power[1, 2 * middle - y] if x == 0 else power[x - 1, y]
    here = power[x, y]
    return (
        x + summit(before, here, power[x + 1, y]),
        y - middle + summit(power[x, y - 1], here, power[x, y + 1]),
    )


def smoothed(grids):
    """Averaged twice over squares; beyond the edges there is nothing."""
    for _ in range(2):
        for axis in (-1, -2):
            grids = ndimage.uniform_filter1d(grids, 2 * REACH + 1, axis=axis, mode="constant")
    return grids


def strengths(rest, valid, frequency):
    """The height of the stripes, and the share of the area where those across are stronger."""
    position = 2.0 * np.pi * np.arange(len(rest))
    fields = [halved(valid.astype(float))]
    for across, down in (frequency, (-frequency[1], frequency[0])):
        wave = np.outer(np.exp(-1j * down * position), np.exp(-1j * across * position))
        shifted = halved(rest * wave)
        fields += [shifted.real, shifted.imag]
    seen, re, im, other_re, other_im = smoothed(np.stack(fields))
    kept = seen > MEASURED
    if not kept.any():
        return 0.0, 0.0
    along, across = (re * re + im * im)[kept], (other_re**2 + other_im**2)[kept]
    heights = np.sort(np.sqrt(np.maximum(along, across)) / seen[kept])
    height = heights[int(HEIGHT_QUANTILE * (len(heights) - 1))]
    return 2.0 * height, (across > along).mean()


def read(data):
    """What solvers of three kinds make of a picture of a surface."""
    grey, valid = decode(data)
    level = plane(grey, valid)
    rest = np.where(valid, without_plane(grey, level), 0.0)
    specks, rest = without_specks(grey, valid, rest)
    across, down = (cycles / len(grey) for cycles in strongest(rest))
    length = max(np.sqrt(across * across + down * down), SMALL)
    angle = np.degrees(np.arctan2(across, -down))
    contrast, crossed = strengths(rest, valid, (across, down))
    if crossed > 0.5:
        angle, crossed = (angle + 90.0 if angle < 90.0 else angle - 90.0), 1.0 - crossed
    estimates = [level[0], 2.0 * level[1], contrast, specks, angle, 1.0 / length, crossed]
    return plain(grey), generic(grey), [float(value) for value in estimates]
