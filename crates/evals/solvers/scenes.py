"""Pictures with an answer of their own: masks by a pixel classifier, boxes by blobs and a classifier,
clean pictures by a linear filter that is fitted on neighbourhoods."""

from scipy import signal
from sklearn.linear_model import Ridge

# Pictures are worked on at no more pixels a side than this.
SIDE = 96


def small_size():
    width, height = picture_size()
    scale = min(1.0, SIDE / max(width, height))
    return max(8, round(width * scale)), max(8, round(height * scale))


def structure_planes(grey):
    """Strength, direction and evenness of stripes around every pixel."""
    down, across = np.gradient(ndimage.gaussian_filter(grey, 0.8))
    planes = []
    for spread in (2, 4):
        xx, yy, xy = (
            ndimage.gaussian_filter(product, spread) for product in (across**2, down**2, across * down)
        )
        total = xx + yy + 1e-7
        planes += [np.log(total), (xx - yy) / total, 2 * xy / total, np.hypot(xx - yy, 2 * xy) / total]
    # Waves of some pitches in four directions.
    for pitch in (0.12, 0.22):
        for angle in np.arange(4) * np.pi / 4:
            reach = np.arange(-6, 7)
            y, x = np.meshgrid(reach, reach, indexing="ij")
            phase = 2j * np.pi * pitch * (x * np.cos(angle) + y * np.sin(angle))
            kernel = np.exp(phase - (x**2 + y**2) / 18)
            kernel -= kernel.mean()
            planes.append(ndimage.gaussian_filter(np.abs(signal.fftconvolve(grey, kernel, mode="same")), 2))
    return planes


def grain(values, inside):
    """Direction, evenness and pitch of the stripes within a blob."""
    flat = np.where(inside, values - values[inside].mean(), 0)
    down, across = np.gradient(flat)
    xx, yy, xy = (np.mean(product[inside]) for product in (across**2, down**2, across * down))
    total = xx + yy + 1e-9
    power = np.abs(np.fft.rfft2(flat, (32, 32))) ** 2
    pitch = np.hypot(*np.meshgrid(np.fft.fftfreq(32), np.fft.rfftfreq(32), indexing="ij"))
    power[pitch < 0.07] = 0
    at = power.argmax()
    return [
        (xx - yy) / total,
        2 * xy / total,
        np.hypot(xx - yy, 2 * xy) / total,
        pitch.flat[at],
        np.log(power.flat[at] + 1e-9),
        np.log(total),
    ]


def pixel_features(grey, rich=False):
    """Of every pixel: light, blurs, edges, how much goes on around it. [pixels, features]"""
    planes = [grey]
    for spread in (1, 2, 4, 8):
        mean = ndimage.gaussian_filter(grey, spread)
        square = ndimage.gaussian_filter(grey**2, spread)
        planes += [mean, np.sqrt(np.maximum(0, square - mean**2)), grey - mean]
    planes.append(ndimage.gaussian_gradient_magnitude(grey, 1.5))
    if rich:
        planes += structure_planes(grey)
    overall = [grey.mean(), grey.std()]
    planes += [np.full_like(grey, value) for value in overall]
    return np.stack(planes, -1).reshape(grey.size, -1).astype(np.float32)


def resized(values, size):
    return np.asarray(Image.fromarray(values.astype(np.float32)).resize(size, Image.Resampling.BILINEAR))


def dice(a, b):
    total = a.sum() + b.sum()
    return 1.0 if total == 0 else 2 * (a & b).sum() / total


def plain_masks(rich=False, parts=3, most=20000):
    full, size = picture_size(), small_size()
    masks = [decoded(cell, full) for cell in raw[TARGET]]
    greys = [picture(path, size) for path in both[FILES[0]]]
    features = [pixel_features(grey, rich) for grey in greys]
    small = [resized(mask.astype(float), size) > 0.5 for mask in masks]
    draws = np.random.default_rng(SEED)
    fold = draws.permutation(N) % parts

    def fitted(rows):
        a = np.concatenate([features[row] for row in rows])
        y = np.concatenate([small[row].ravel() for row in rows])
        chosen = draws.permutation(len(y))[:most]
        # Rare masks get as many pixels as they have.
        held = np.nonzero(y)[0]
        chosen = np.concatenate([chosen, draws.permutation(held)[: most // 4]])
        return LGBMClassifier(n_estimators=80, num_leaves=24, n_jobs=1, verbose=-1, random_state=SEED).fit(
            a[chosen], y[chosen]
        )

    def chances(model, row):
        return model.predict_proba(features[row])[:, 1].reshape(size[1], size[0])

    held = [None] * N
    for part in range(parts):
        model = fitted(np.nonzero(fold != part)[0])
        for row in np.nonzero(fold == part)[0]:
            held[row] = chances(model, row)
    cuts = np.linspace(0.2, 0.8, 13)
    smoothing = (0, 1, 2)
    score = {
        (spread, cut): np.mean([dice(ndimage.gaussian_filter(p, spread) > cut, mask) for p, mask in zip(held, small)])
        for spread in smoothing for cut in cuts
    }  # fmt: skip
    spread, cut = max(score, key=score.get)
    model = fitted(np.arange(N))
    rows = []
    for row in range(N, len(both)):
        p = ndimage.gaussian_filter(chances(model, row), spread)
        rows.append(encoded(resized(p, full) > cut))
    submit({OUT[0]: rows})


def ground_off(grey):
    """A picture less its ground, a bent plane through its calm pixels."""
    yy, xx = (side.ravel() for side in np.mgrid[-1 : 1 : len(grey) * 1j, -1 : 1 : len(grey[0]) * 1j])
    basis = np.stack([np.ones(grey.size), xx, yy, xx * yy, xx**2, yy**2], 1)
    flat = grey.ravel()
    off = flat - np.median(flat)
    for _ in range(4):
        size = np.abs(off - np.median(off))
        calm = size < max(0.02, 1.5 * np.median(size))
        off = flat - basis @ np.linalg.lstsq(basis[calm], flat[calm], rcond=None)[0]
    return off.reshape(grey.shape)


def blobs(grey, rich=False):
    """(frame, measures) of everything that stands out of the ground."""
    off = ground_off(grey)
    energy = np.sqrt(ndimage.gaussian_filter(off**2, 1.2))
    noise = np.median(energy)
    found = []
    for level in (2.0, 4.0) if rich else (2.5,):
        seen = ndimage.binary_fill_holes(ndimage.binary_opening(energy > level * noise + 0.01))
        marks, _ = ndimage.label(seen)
        for mark, place in enumerate(ndimage.find_objects(marks), 1):
            inside = marks[place] == mark
            area = inside.sum()
            if area < 12 or area > 0.4 * grey.size:
                continue
            values = off[place]
            rows, columns = np.nonzero(inside)
            spread = np.linalg.eigvalsh(np.cov(rows, columns) + 0.05 * np.eye(2)) if area > 2 else [1, 1]
            rim = inside & ~ndimage.binary_erosion(inside)
            measures = [
                area, *inside.shape, area / inside.size, np.sqrt(spread[1] / spread[0]), rim.sum() ** 2 / area,
                values[inside].mean(), np.abs(values[inside]).mean(), values[inside].std(), values[inside].max(), values[inside].min(),
                values[rim].mean(), noise, level,
            ]  # fmt: skip
            if rich:
                measures += grain(values, inside)
            found.append(((place[1].start, place[0].start, inside.shape[1], inside.shape[0]), measures))
    return found


def overlap(a, b):
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    tall = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    shared = max(0, wide) * max(0, tall)
    return shared / (a[2] * a[3] + b[2] * b[3] - shared + EPS)


def plain_boxes(rich=False):
    pictures = [picture(path) for path in both[FILES[0]]]
    found = [blobs(grey, rich) for grey in pictures]
    counts = [len(row) for row in found]
    owner = np.repeat(np.arange(len(found)), counts)
    frames = np.array([frame for row in found for frame, _ in row], float)
    measures = np.array([measure for row in found for _, measure in row], float)
    # Beside the others of its picture.
    middle = np.stack(
        [
            np.median(measures[owner == row], axis=0) if counts[row] else np.zeros(measures.shape[1])
            for row in range(len(found))
        ]
    )
    x = np.hstack([measures, measures - middle[owner], np.array(counts)[owner][:, None]])
    classes, moves = [], []
    for row, frame in zip(owner[owner < N], frames[owner < N]):
        there = [(overlap(frame, box[1:]), box) for box in boxes_of(raw[TARGET][row])]
        best = max(there, key=lambda pair: pair[0], default=(0, None))
        classes.append(best[1][0] if best[0] > 0.3 else "")
        if best[0] > 0.5:
            moves.append(np.array(best[1][1:]) - frame)
    move = np.median(moves, axis=0) if moves else np.zeros(4)
    model = ExtraTreesClassifier(
        200, min_samples_leaf=2, max_features=0.4, random_state=SEED, class_weight="balanced"
    )
    model.fit(x[owner < N], classes)
    chance = model.predict_proba(x[owner >= N])
    cells = [[] for _ in range(len(test))]
    for row, frame, p in zip(owner[owner >= N] - N, frames[owner >= N] + move, chance):
        for name, value in zip(model.classes_, p):
            if name and value > 0.05:
                cells[row].append((value, name, (*frame[:2], *np.maximum(1, frame[2:]))))
    submit({OUT[0]: [" ".join(separate(cell)[:60]) for cell in cells]})


def separate(found):
    """Boxes as text, the likeliest first; of those of a class that overlap, only the likeliest."""
    kept = []
    for value, name, frame in sorted(found, reverse=True):
        if all(name != other or overlap(frame, there) < 0.4 for _, other, there in kept):
            kept.append((value, name, frame))
    return [f"{name} {value:.4f} " + " ".join(f"{side:.2f}" for side in frame) for value, name, frame in kept]


def around(stack, reach):
    """The neighbourhood of every pixel: [pixels, (2 reach + 1)^2]."""
    count, height, width = stack.shape
    padded = np.pad(stack, ((0, 0), (reach, reach), (reach, reach)), mode="reflect")
    steps = range(2 * reach + 1)
    planes = [padded[:, down : down + height, right : right + width] for down in steps for right in steps]
    return np.stack(planes, -1).reshape(count * height * width, -1)


def plain_pixels(reach=2, rich=False):
    """Every clean pixel as a sum over its damaged neighbourhood."""
    size = picture_size()
    clean = (
        np.stack([numbers_of(cell) for cell in raw[TARGET]]).reshape(N, size[1], size[0]).astype(np.float32)
    )
    levels = clean.max()
    damaged = np.stack([picture(path, size) for path in both[FILES[0]]]) * levels
    if rich:
        damaged = filled(damaged, clean)
    draws = np.random.default_rng(SEED)
    rows = draws.permutation(N)[: max(8, 600000 // clean[0].size)]
    a, y = around(damaged[rows], reach), clean[rows].ravel()
    chosen = draws.permutation(len(y))[:120000]
    model = Ridge(1.0).fit(a[chosen], y[chosen])
    trees_ = None
    if rich:
        rest = y[chosen] - model.predict(a[chosen])
        some = chosen[:25000]
        extra = np.column_stack([a[some], model.predict(a[some]), a[some].std(axis=1)])
        trees_ = LGBMRegressor(n_estimators=80, num_leaves=24, n_jobs=1, verbose=-1, random_state=SEED).fit(
            extra, rest[:25000]
        )
    cells = []
    for row in range(N, len(both)):
        b = around(damaged[row : row + 1], reach)
        values = model.predict(b)
        if trees_ is not None:
            values = values + trees_.predict(np.column_stack([b, values, b.std(axis=1)]))
        values = np.clip(np.round(values), 0, levels).astype(int)
        cells.append(" ".join(map(str, values)))
    submit({OUT[0]: cells})


def filled(damaged, clean):
    """Gaps, where the picture is black or white whatever lies beneath, filled from around them."""
    levels = clean.max()
    gone = (damaged <= 0.01 * levels) | (damaged >= 0.99 * levels)
    wrong = np.abs(damaged[:N] - clean)[gone[:N]]
    if gone[:N].mean() < 0.005 or np.median(wrong) < 0.1 * levels:
        return damaged
    out = damaged.copy()
    for place in range(len(out)):
        known = (~gone[place]).astype(float)
        for spread in (0.7, 1.5, 4.0, 15.0):
            weight = ndimage.gaussian_filter(known, spread)
            mean = ndimage.gaussian_filter(damaged[place] * known, spread) / np.maximum(weight, 1e-9)
            hole = gone[place] & (weight > 0.05)
            out[place][hole] = mean[hole]
            gone[place] &= ~hole
    return out
