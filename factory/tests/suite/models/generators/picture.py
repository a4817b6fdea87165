"""Striped pictures with a grain: what a model could write, up to the columns of the task."""

import numpy as np

VERSION = 1
SIDE = 48
COLOUR = True


def hidden(rng, n):
    return {
        "item.light": rng.uniform(80, 150, n),
        "item.grain": rng.uniform(2, 14, n),
        "item.stripes": rng.integers(3, 10, n).astype(float),
    }


def item(row, rng):
    """Stripes across a lit surface with a grain; in colour, red and blue are paler."""
    along = np.arange(SIDE) / SIDE
    wave = np.sin(2 * np.pi * (row["item.stripes"] * along + rng.uniform()))
    grain = rng.normal(0, row["item.grain"], (SIDE, SIDE))
    levels = row["item.light"] + 22 * wave[None, :] + grain
    if COLOUR:
        levels = np.stack([0.8 * levels + 20, levels, 0.7 * levels + 40], axis=2)
    return np.clip(np.round(levels), 1, 254).astype(np.uint8)


def measured(items):
    """Estimates of the hidden columns from pictures."""
    grey = (items[..., 1] if COLOUR else items).astype(float)
    valid = (grey > 0) & (grey < 255)
    light = np.array([np.median(p[v]) for p, v in zip(grey, valid, strict=True)])
    filled = np.where(valid, grey, light[:, None, None])
    steps = np.abs(np.diff(filled, axis=1)) / np.sqrt(2)
    grain = 1.4826 * np.median(steps, axis=(1, 2))
    rows = np.median(filled, axis=1)
    spectrum = np.abs(np.fft.rfft(rows - rows.mean(axis=1, keepdims=True), axis=1))
    stripes = 3 + spectrum[:, 3:10].argmax(axis=1)
    return {"item.light": light, "item.grain": grain, "item.stripes": stripes.astype(float)}
