"""Measures pictures, all of a size at once: light, colour, objects, grain and stripes."""
from PIL import Image
from scipy import ndimage

# Neighbours lie within a picture: pictures are stacked along the first axis.
CROSS = np.zeros((3, 3, 3), bool)
CROSS[1] = ndimage.generate_binary_structure(2, 1)


def blurred(stack, spread, mode="reflect"):
    return ndimage.gaussian_filter(stack, (0, spread, spread), mode=mode, truncate=3)


def median(stack):
    """The median of every pixel and its eight neighbours, from columns of three that are sorted."""
    padded = np.pad(stack, ((0, 0), (1, 1), (1, 1)), mode="symmetric")

    def ordered(a, b, c):
        low, high = np.minimum(a, b), np.maximum(a, b)
        return np.minimum(low, c), np.maximum(low, np.minimum(high, c)), np.maximum(high, c)

    low, middle, high = ordered(padded[:, :-2], padded[:, 1:-1], padded[:, 2:])
    beside = lambda v: (v[:, :, :-2], v[:, :, 1:-1], v[:, :, 2:])
    low, high = np.maximum.reduce(beside(low)), np.minimum.reduce(beside(high))
    return ordered(low, ordered(*beside(middle))[1], high)[1]


def labelled(seen):
    """Marks, and the picture that each mark lies in."""
    marks, count = ndimage.label(seen, CROSS)
    owner = np.zeros(count + 1, int)
    where = np.nonzero(marks)
    owner[marks[where]] = where[0]
    return marks, owner[1:]


def specks(seen):
    return np.bincount(labelled(seen)[1], minlength=len(seen))


def levelled(grey):
    """Pictures less a plane through their calm pixels, and the planes."""
    n, height, width = grey.shape
    yy, xx = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    basis = np.stack([np.ones(height * width), xx.ravel(), yy.ravel()], 1)
    squares = (basis[:, :, None] * basis[:, None]).reshape(-1, 9)
    flat = grey.reshape(n, -1)
    left = flat - np.median(flat, axis=1, keepdims=True)
    for _ in range(3):
        usual = 1.5 * np.median(np.abs(left[:, ::2]), axis=1, keepdims=True)
        calm = (np.abs(left) < np.maximum(6.0, usual)).astype(float)
        normal = (calm @ squares).reshape(n, 3, 3) + 1e-6 * np.eye(3)
        plane = np.linalg.solve(normal, ((calm * flat) @ basis)[:, :, None])[:, :, 0]
        left = flat - plane @ basis.T
    return left.reshape(grey.shape), plane


def objects(deviation, noise):
    """What stands out of the ground: how many, how large, bright or dark, full or hollow."""
    n = len(deviation)
    seen = np.abs(deviation) > np.maximum(10.0, 3 * noise)[:, None, None]
    seen |= ndimage.binary_closing(seen, CROSS)
    filled = ndimage.binary_fill_holes(seen, CROSS)
    marks, owner = labelled(filled)
    where = np.nonzero(marks)
    mark, value, rows, columns = marks[where] - 1, deviation[where], *where[1:]
    # A margin of ground keeps the edge of the picture from counting as inside.
    margin = np.pad(filled, ((0, 0), (1, 1), (1, 1)))
    depth = ndimage.distance_transform_cdt(margin, CROSS)[:, 1:-1, 1:-1][where]
    total = lambda weights: np.bincount(mark, weights, len(owner))
    area = np.maximum(1, total(np.ones(len(mark))))
    deepest = np.zeros(len(owner))
    np.maximum.at(deepest, mark, depth)
    core = depth >= 0.7 * deepest[mark]
    middle = total(value * core) / np.maximum(1, total(core.astype(float)))
    rim = total(value * ~core) / np.maximum(1, total((~core).astype(float)))
    rim = np.where(area > total(core.astype(float)), rim, middle)
    y, x_ = total(rows) / area, total(columns) / area
    yy = total((rows - y[mark]) ** 2) / area + 0.01
    xx = total((columns - x_[mark]) ** 2) / area + 0.01
    xy = total((rows - y[mark]) * (columns - x_[mark])) / area
    root = np.sqrt((yy - xx) ** 2 / 4 + xy**2)
    long = np.sqrt(((yy + xx) / 2 + root) / np.maximum(1e-3, (yy + xx) / 2 - root))
    # 1 for a disc, more for what is long or has a ragged outline.
    outline = 2 * np.pi * (yy + xx) / area
    large = area >= 12
    owner, area, middle, rim = owner[large], area[large], middle[large], rim[large]
    bright, hollow = rim > 0, middle * np.sign(rim) < 0.5 * np.abs(rim)
    number = np.bincount(owner, minlength=n)
    count = lambda chosen: np.bincount(owner[chosen], minlength=n)
    some = np.maximum(1, number)
    out = {
        "objects": number, "bright": count(bright), "hollow": count(hollow), "covered": filled.mean(axis=(1, 2)),
        "bright hollow": count(bright & hollow), "dark hollow": count(~bright & hollow),
        "bright full": count(bright & ~hollow), "dark full": count(~bright & ~hollow),
    }  # fmt: skip
    out["bright share"], out["hollow share"] = out["bright"] / some, out["hollow"] / some
    out["same share"] = count(bright == hollow) / some
    for key, values in (("area", area), ("long", long[large]), ("outline", outline[large]), ("strength", np.abs(rim))):
        mean = np.bincount(owner, values, n) / some
        out[f"object {key}"] = mean
        out[f"object {key} spread"] = np.sqrt(np.maximum(0, np.bincount(owner, values**2, n) / some - mean**2))
    return out


def stripes(grey):
    """Direction, width, strength and uniformity of a grain."""
    n, height, width = grey.shape
    smooth = blurred(grey, 1.0)
    dy, dx = np.gradient(smooth, axis=(1, 2))
    xx, yy, xy = (blurred(v, 2.5).reshape(n, -1) for v in (dx * dx, dy * dy, dx * dy))
    weight = xx + yy + 1e-9
    # Twice the angle, so that opposite directions are the same.
    turn = (xx - yy + 2j * xy) / np.maximum(1e-9, np.hypot(xx - yy, 2 * xy))
    mean = (weight * turn).sum(axis=1) / weight.sum(axis=1)
    out = {"direction cos": mean.real, "direction sin": mean.imag, "one direction": np.abs(mean)}
    # A second direction: how far and how much of the picture turns away from the first.
    places = np.minimum(17, ((np.angle(turn) + np.pi) / (2 * np.pi) * 18).astype(int))
    bins = np.bincount((places + 18 * np.arange(n)[:, None]).ravel(), weight.ravel(), 18 * n).reshape(n, 18)
    bins = (bins + np.roll(bins, 1, 1) + np.roll(bins, -1, 1)) / 3 / weight.sum(axis=1, keepdims=True)
    first = bins.argmax(axis=1)
    away = (np.arange(18) - first[:, None]) % 18
    away = np.minimum(away, 18 - away)
    second = np.where(away >= 3, bins, 0).argmax(axis=1)
    rows = np.arange(n)
    main = np.exp(1j * ((first + 0.5) / 18 * 2 * np.pi - np.pi))
    near = weight * (np.abs(np.angle(turn * main.conj()[:, None])) < 0.8)
    main = (near * turn).sum(axis=1)
    main = main / np.maximum(1e-9, np.abs(main))
    out["main direction cos"], out["main direction sin"] = main.real, main.imag
    differs = np.abs(np.angle(turn * main.conj()[:, None])) / 2
    out["turned share"], out["turned mean"] = (differs > 0.4).mean(axis=1), differs.mean(axis=1)
    out["turned by"] = away[rows, second] * np.pi / 18
    out["second strength"] = bins[rows, second] / bins[rows, first]
    ground = grey - blurred(grey, 8)
    power = np.abs(np.fft.fft2(ground * np.outer(np.hanning(height), np.hanning(width)))) ** 2
    radius = np.hypot(*np.meshgrid(np.fft.fftfreq(height), np.fft.fftfreq(width), indexing="ij")).ravel()
    flat = power.reshape(n, -1)
    edges = np.geomspace(0.02, 0.5, 9)
    for i, (low, high) in enumerate(zip(edges, edges[1:])):
        out[f"band {i}"] = np.log(flat[:, (radius >= low) & (radius < high)].sum(axis=1) + 1)
    coarse = radius < 0.3
    out["pitch"] = (flat * radius)[:, coarse].sum(axis=1) / (flat[:, coarse].sum(axis=1) + 1e-9)
    peak = np.where(coarse, blurred(power, 0.7, mode="wrap").reshape(n, -1), 0).argmax(axis=1)
    out["peak pitch"] = radius[peak]
    out["contrast"] = ground.std(axis=(1, 2))
    return out


def measured(pixels):
    """Measures of pictures, [picture, row, column, channel]."""
    n = len(pixels)
    out = {f"channel {i}": np.median(pixels[:, ::2, ::2, i].reshape(n, -1), axis=1) for i in range(3)}
    out["red - blue"] = out["channel 0"] - out["channel 2"]
    clean = pixels.mean(axis=3)
    # A bar of one colour hides what lies beneath it: leave such rows and columns out.
    for axis in (2, 1):
        kept = clean.std(axis=axis, keepdims=True) > 1.5
        kept |= ~kept.any(axis=3 - axis, keepdims=True)
        usual = (clean * kept).sum(axis=3 - axis, keepdims=True) / kept.sum(axis=3 - axis, keepdims=True)
        clean = np.where(kept, clean, usual)
    grey = median(clean)
    clean = np.where((clean < 4) | (clean > 251), grey, clean)
    flat = grey.reshape(n, -1)
    out["light spread"] = flat.std(axis=1)
    shares = (5, 25, 50, 75, 95)
    out.update({f"q{q}": v for q, v in zip(shares, np.percentile(flat, shares, axis=1))})
    deviation, plane = levelled(grey)
    out["slope x"], out["slope y"] = plane[:, 1], plane[:, 2]
    grain = clean - median(clean)
    noise = 1.48 * np.median(np.abs(grain).reshape(n, -1), axis=1) + 0.5
    out["noise"] = noise
    limit = np.maximum(12.0, 4 * noise)[:, None, None]
    out["bright specks"], out["dark specks"] = specks(grain > limit), specks(grain < -limit)
    return pd.DataFrame({**out, **objects(deviation, noise), **stripes(grey)})


PIXELS = 1_000_000


def picture(path):
    return np.asarray(Image.open(f"input/{path}").convert("RGB"), np.float32)


for name in files:
    paths = [path for path in x[name] if isinstance(path, str)]
    # Some at a time, for memory's sake: each takes some 200 bytes a pixel while it is measured.
    parts = []
    while paths:
        pixels = [picture(paths[0])]
        some = max(1, PIXELS // pixels[0][:, :, 0].size)
        pixels += [picture(path) for path in paths[1:some]]
        parts.append(measured(np.stack(pixels)))
        paths = paths[some:]
    paths = [path for path in x[name] if isinstance(path, str)]
    seen = pd.concat(parts)
    seen = seen.set_index(pd.Index(paths)).groupby(level=0).first().reindex(x[name]).reset_index(drop=True)
    seen = seen.fillna(seen[:N].median())
    columns.update({f"{name}: {key}": seen[key] for key in seen})

