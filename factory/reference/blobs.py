"""Finds what stands out of the ground of each picture, and measures it: size, outline, light,
and the grain inside, which tells look-alikes apart."""
import re
import warnings

import numpy as np
import pandas as pd
from PIL import Image
from scipy import ndimage
from sklearn.ensemble import ExtraTreesClassifier

warnings.filterwarnings("ignore")


def read(name):
    return pd.read_csv(f"input/{name}.csv", keep_default_na=False)


train, test, sample = read("train"), read("test"), read("sample_submission")
ID, TARGET = sample.columns
FILE = test.columns[1]


def picture(path):
    return np.asarray(Image.open(f"input/{path}").convert("L"), float)


def deviation(grey):
    """Picture less ground, a bent plane through its calm pixels, and the size of its noise."""
    yy, xx = (v.ravel() for v in np.mgrid[-1 : 1 : len(grey) * 1j, -1 : 1 : len(grey[0]) * 1j])
    basis = np.stack([np.ones(grey.size), xx, yy, xx * yy, xx**2, yy**2], 1)
    flat = grey.ravel()
    left = flat - np.median(flat)
    for _ in range(4):
        off = np.abs(left - np.median(left))
        calm = off < max(5.0, 1.5 * np.median(off))
        ground = basis[calm]
        left = flat - basis @ np.linalg.solve(ground.T @ ground + 1e-6 * np.eye(6), ground.T @ flat[calm])
    quiet = left[calm]
    return left.reshape(grey.shape), max(1.0, 1.48 * np.median(np.abs(quiet - np.median(quiet))))


SIZE = 32
PITCHES = np.hypot(*np.meshgrid(np.fft.fftfreq(SIZE), np.fft.rfftfreq(SIZE), indexing="ij"))
ACROSS, ALONG = np.meshgrid(np.fft.fftfreq(SIZE), np.fft.rfftfreq(SIZE), indexing="ij")
NEAR = (PITCHES > 0.09) & (PITCHES < 0.4)
BANDS = np.stack([((PITCHES >= a) & (PITCHES < b)).ravel() for a, b in ((0.06, 0.12), (0.12, 0.18), (0.18, 0.25), (0.25, 0.35), (0.35, 0.5))]).astype(float)
BANDS /= BANDS.sum(axis=1, keepdims=True)


def grain(values, inside):
    """Strength, direction and pitch of the stripes within a region."""
    flat = np.where(inside, values - values[inside].mean(), 0.0)
    dy, dx = np.gradient(ndimage.gaussian_filter(flat, 0.8))
    core = ndimage.binary_erosion(inside)
    core = core if core.sum() > 8 else inside
    xx, yy, xy = (dx * dx)[core].mean(), (dy * dy)[core].mean(), (dx * dy)[core].mean()
    coherence = np.hypot(xx - yy, 2 * xy) / (xx + yy + 1e-9)
    angle = np.arctan2(2 * xy, xx - yy)
    field = np.where(core, values - values[core].mean(), 0.0)
    power = np.abs(np.fft.rfft2(field, (SIZE, SIZE))) ** 2 / core.sum()
    at = np.where(NEAR, power, 0).argmax()
    peak = 2 * np.arctan2(ACROSS.flat[at], ALONG.flat[at])
    return [coherence, np.cos(angle), np.sin(angle), coherence * np.cos(angle), coherence * np.sin(angle), np.cos(peak), np.sin(peak),
            PITCHES.flat[at], np.log1p(power.flat[at]), power.flat[at] / (power[NEAR].mean() + 1e-9), *np.log1p(BANDS @ power.ravel()),
            values[core].std(), xx + yy]


def blobs(grey):
    """(mask, measures) of everything that stands out."""
    left, noise = deviation(grey)
    smooth = ndimage.gaussian_filter(left, 1.0)
    # Stripes cross zero: what counts is how much goes on around a pixel.
    energy = np.sqrt(ndimage.gaussian_filter(smooth**2, 1.0))
    high = np.percentile(energy, 98)
    seen = energy > max(2.0 * noise**0.5, 0.45 * high)
    seen = ndimage.binary_fill_holes(ndimage.binary_opening(seen))
    seen = ndimage.binary_erosion(seen) if seen.mean() > 0.5 else seen
    marks, count = ndimage.label(seen)
    found = []
    places = ndimage.find_objects(marks)
    for mark, place in enumerate(places, 1):
        inside = marks[place] == mark
        area = inside.sum()
        if area < 15:
            continue
        values = left[place]
        rows, columns = np.nonzero(inside)
        centre = rows.mean(), columns.mean()
        reach = np.hypot(rows - centre[0], columns - centre[1])
        rim = inside & ~ndimage.binary_erosion(inside, border_value=0)
        rim_reach = np.hypot(*(np.array(np.nonzero(rim)) - np.array(centre)[:, None]))
        spread = np.linalg.eigvalsh(np.cov(rows, columns) + 0.05 * np.eye(2))
        measures = [area, inside.shape[0], inside.shape[1], area / inside.size, np.sqrt(spread[1] / spread[0]),
                    rim.sum() ** 2 / area, rim_reach.std() / rim_reach.mean(), reach.mean() / np.sqrt(area),
                    values[inside].mean(), abs(values[inside].mean()), np.median(values[rim]), values[inside].max(), values[inside].min(),
                    noise, smooth[place][inside].std(), *grain(values, inside)]
        found.append((place, inside, np.array(measures)))
    # How it compares with the others of the picture.
    if found:
        table = np.array([measures for _, _, measures in found])
        table = np.hstack([table, table - np.median(table, axis=0), np.full((len(table), 1), len(table))])
        found = [(place, inside, row) for (place, inside, _), row in zip(found, table)]
    return found, energy


def judge(features, classes, ahead):
    """Class probabilities of blobs: of the training pictures', each from the trees that were grown
    without it, and of `ahead`."""
    model = ExtraTreesClassifier(150, min_samples_leaf=2, max_features=0.3, class_weight="balanced",
                                 bootstrap=True, oob_score=True, random_state=0)
    model.fit(features, classes)
    return list(model.classes_), model.oob_decision_function_, model.predict_proba(ahead)


pictures = {side: [picture(path) for path in table[FILE]] for side, table in (("train", train), ("test", test))}
found = {side: [blobs(grey) for grey in pictures[side]] for side in pictures}

