"""Measures pictures: light, colour, objects, grain and stripes."""
from PIL import Image
from scipy import ndimage


def objects(deviation, noise):
    """What stands out of the ground: how many, how large, bright or dark, full or hollow."""
    found = []
    seen = np.abs(deviation) > max(10.0, 3 * noise)
    filled = ndimage.binary_fill_holes(ndimage.binary_closing(seen, iterations=1) | seen)
    marks, count = ndimage.label(filled)
    for mark, place in enumerate(ndimage.find_objects(marks), 1):
        inside = marks[place] == mark
        area = inside.sum()
        if area < 12:
            continue
        values = deviation[place][inside]
        depth = ndimage.distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
        core = deviation[place][inside & (depth >= 0.7 * depth.max())].mean()
        rim = np.median(deviation[place][inside & (depth < 0.7 * depth.max())])
        rows, columns = np.nonzero(inside)
        spread = np.linalg.eigvalsh(np.cov(rows, columns) + 0.01 * np.eye(2))
        sign = np.sign(rim)
        hollow = core * sign < 0.5 * abs(rim)
        fullness = area / inside.size
        found.append([sign > 0, hollow, area, np.sqrt(spread[1] / spread[0]), fullness, abs(rim)])
    found = np.array(found, float).reshape(-1, 6)
    bright, hollow = found[:, 0] > 0, found[:, 1] > 0
    n = max(1, len(found))
    means = found[:, 2:].mean(axis=0) if len(found) else np.zeros(4)
    spreads = found[:, 2:].std(axis=0) if len(found) else np.zeros(4)
    return {
        "objects": len(found), "bright": bright.sum(), "hollow": hollow.sum(),
        "bright hollow": (bright & hollow).sum(), "dark hollow": (~bright & hollow).sum(),
        "bright full": (bright & ~hollow).sum(), "dark full": (~bright & ~hollow).sum(),
        "bright share": bright.sum() / n, "hollow share": hollow.sum() / n,
        "same share": (bright == hollow).sum() / n,
        "covered": filled.mean(), **{f"object {i}": v for i, v in enumerate(means)},
        **{f"object spread {i}": v for i, v in enumerate(spreads)},
    }  # fmt: skip


def stripes(grey):
    """Direction, width, strength and uniformity of a grain."""
    out = {}
    smooth = ndimage.gaussian_filter(grey, 1.0)
    dy, dx = np.gradient(smooth)
    xx, yy, xy = (ndimage.gaussian_filter(v, 2.5) for v in (dx * dx, dy * dy, dx * dy))
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    weight = xx + yy
    turn = np.exp(2j * angle)
    mean = (weight * turn).sum() / weight.sum()
    out["direction cos"], out["direction sin"] = mean.real, mean.imag
    out["one direction"] = abs(mean)
    # A second direction: how far and how much of the picture turns away from the first.
    bins = np.histogram(angle, 18, (-np.pi / 2, np.pi / 2), weights=weight)[0] / weight.sum()
    bins = (bins + np.roll(bins, 1) + np.roll(bins, -1)) / 3
    first = bins.argmax()
    away = np.array([min((i - first) % 18, (first - i) % 18) for i in range(18)])
    second = np.where(away >= 3, bins, 0).argmax()
    out["main direction cos"] = np.cos(2 * np.pi * (first + 0.5) / 18)
    out["main direction sin"] = np.sin(2 * np.pi * (first + 0.5) / 18)
    main = np.median(angle[np.abs(np.angle(turn * np.exp(-2j * (-np.pi / 2 + (first + 0.5) * np.pi / 18)))) < 0.6])
    differs = np.abs(np.angle(turn * np.exp(-2j * main))) / 2
    out["turned share"] = (differs > 0.4).mean()
    out["turned by"] = away[second] * np.pi / 18
    out["turned mean"] = differs.mean()
    out["second strength"] = bins[second] / bins[first]
    field = (grey - ndimage.gaussian_filter(grey, 8)) * np.outer(np.hanning(len(grey)), np.hanning(len(grey[0])))
    power = np.abs(np.fft.fft2(field)) ** 2
    fy, fx = np.meshgrid(np.fft.fftfreq(len(grey)), np.fft.fftfreq(len(grey[0])), indexing="ij")
    radius = np.hypot(fy, fx)
    edges = np.geomspace(0.02, 0.5, 9)
    bands = [power[(radius >= a) & (radius < b)].sum() for a, b in zip(edges, edges[1:])]
    out.update({f"band {i}": v for i, v in enumerate(np.log(np.array(bands) + 1))})
    near = radius < 0.3
    out["pitch"] = (power * radius)[near].sum() / power[near].sum()
    peak = np.where(near, ndimage.gaussian_filter(power, 0.7, mode="wrap"), 0).argmax()
    out["peak pitch"] = radius.flat[peak]
    out["contrast"] = np.std(grey - ndimage.gaussian_filter(grey, 8))
    return out


def picture(path):
    pixels = np.asarray(Image.open(f"input/{path}").convert("RGB"), float)
    raw = pixels.mean(axis=2)
    out = {f"channel {i}": np.median(pixels[:, :, i]) for i in range(3)}
    out["red - blue"] = out["channel 0"] - out["channel 2"]
    # A bar of one colour hides what lies beneath it: leave such rows and columns out.
    rows, lines = raw.std(axis=1) > 1.5, raw.std(axis=0) > 1.5
    clean = raw.copy()
    for across, keep in ((clean, rows), (clean.T, lines)):
        if keep.any() and not keep.all():
            across[~keep] = across[keep].mean(axis=0)
    grey = ndimage.median_filter(clean, 3)
    flaws = (clean < 4) | (clean > 251)
    clean = np.where(flaws, grey, clean)
    out["light"], out["light spread"] = np.median(grey), grey.std()
    out.update({f"q{q}": v for q, v in zip((5, 25, 75, 95), np.percentile(grey, (5, 25, 75, 95)))})
    yy, xx = np.mgrid[-1 : 1 : len(grey) * 1j, -1 : 1 : len(grey[0]) * 1j]
    basis = np.stack([np.ones(grey.size), xx.ravel(), yy.ravel()], 1)
    deviation = grey - np.median(grey)
    for _ in range(3):
        calm = np.abs(deviation) < max(6.0, 1.5 * np.median(np.abs(deviation)))
        plane = np.linalg.lstsq(basis[calm.ravel()], grey[calm], rcond=None)[0]
        deviation = grey - (basis @ plane).reshape(grey.shape)
    out["slope x"], out["slope y"] = plane[1:]
    grain = clean - ndimage.median_filter(clean, 3)
    noise = 1.48 * np.median(np.abs(grain)) + 0.5
    out["noise"] = noise
    marks = ndimage.label(grain > max(12.0, 4 * noise))[1]
    out["bright specks"] = marks
    out["dark specks"] = ndimage.label(grain < -max(12.0, 4 * noise))[1]
    out.update(objects(deviation, noise))
    out.update(stripes(grey))
    return out


for name in files:
    seen = pd.DataFrame([picture(path) if isinstance(path, str) else {} for path in x[name]])
    seen = seen.fillna(seen[:N].median())
    columns.update({f"{name}: {key}": seen[key] for key in seen})

