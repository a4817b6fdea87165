

# Reading scattered things. Follows blobs.rs.

NEAR = [0.1, 0.06, 0.05]
PEAK_QUANTILE = 0.99
LEAST = 10
COMPACT = 0.65
HOLE = 0.5
INSIDE = 0.45
TINY = 1e-12
PIXEL = 1.0 / 12.0


def filled(grey, valid):
    """The picture with the mean of the measured neighbours where nothing was measured."""
    if valid.all():
        return grey
    count = around(valid.astype(float))
    means = around(np.where(valid, grey, 0.0)) / np.maximum(count, 1.0)
    return np.where(valid, grey, np.where(count > 0.0, means, 0.5))


def without_background(grey):
    """The background's level at the middle, and what is left without it."""
    level = [np.sort(grey, axis=None)[grey.size // 2], 0.0, 0.0]
    rest = without_plane(grey, level)
    for near in NEAR:
        level = plane(grey, np.abs(rest) < near)
        rest = without_plane(grey, level)
    return level[0], rest


def measure(grey, valid):
    """Background, contrast, the forms of the things, and their mean place."""
    background, rest = without_background(filled(grey, valid))
    distance = np.sort(np.abs(rest), axis=None)
    peak = distance[int(PEAK_QUANTILE * (distance.size - 1))]
    contrast = distance[distance >= 0.75 * peak].mean()
    things = forms(rest, INSIDE * contrast)
    return background, contrast, *things


def read(data):
    """What solvers of three kinds make of a picture of scattered things."""
    grey, valid = decode(data)
    background, contrast, things, _ = measure(grey, valid)
    estimates = [background, contrast] + things
    return plain(grey), generic(grey), [float(value) for value in estimates]


def forms(rest, threshold):
    """Number, mean radius, share of dark and of hollow ones, mean elongation and heading; mean place."""
    labels, count = ndimage.label(np.abs(rest) > threshold, structure=np.ones((3, 3)))
    y, x = np.nonzero(labels)
    of = labels[y, x]
    pixels = np.bincount(of, minlength=count + 1)
    kept = (pixels >= LEAST) & (np.arange(count + 1) > 0)
    if not kept.any():
        return [0.0, 0.0, 0.0, 0.0, 1.0, 90.0], [0.0, 0.0]
    pixels = pixels[kept]

    def mean(values):
        return np.bincount(of, values, minlength=count + 1)[kept] / pixels

    middle_x, middle_y = mean(x), mean(y)
    a = mean(x * x) - middle_x * middle_x + PIXEL
    b = mean(x * y) - middle_x * middle_y
    c = mean(y * y) - middle_y * middle_y + PIXEL
    determinant = a * c - b * b
    hollow = pixels * pixels / (16.0 * np.pi * np.pi * determinant) < COMPACT
    radius = 2.0 * determinant**0.25 / np.where(hollow, np.sqrt(1.0 + HOLE * HOLE), 1.0)
    half = (a + c) / 2.0
    apart = np.sqrt(np.maximum(half * half - determinant, 0.0))
    elongation = np.sqrt((half + apart) / (half - apart))
    scale = np.maximum(apart, TINY)
    turn = np.degrees(np.arctan2((b / scale).sum(), ((a - c) / 2.0 / scale).sum())) / 2.0
    heading = turn + 180.0 if turn < 0.0 else turn
    dark = mean(rest[y, x]) < 0.0
    things = [len(pixels), radius.mean(), dark.mean(), hollow.mean(), elongation.mean(), heading]
    return things, [middle_x.mean(), middle_y.mean()]
