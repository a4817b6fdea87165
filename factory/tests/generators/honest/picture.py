"""Draws striped cloth: the number of stripes and the light are hidden columns."""

import numpy as np

VERSION = 1
SIDE = 24


def columns(rng, n):
    return {
        "load": np.clip(rng.normal(50, 18, n), 0, 100),
        "item.stripes": rng.integers(2, 9, n).astype(float),
        "item.light": rng.uniform(90, 160, n),
    }


def terms(load, stripes, light):
    return np.column_stack([(load - 50) / 18 * (stripes - 5) / 2, (light - 125) / 20])


def score(columns):
    return terms(columns["load"], columns["item.stripes"], columns["item.light"]).sum(axis=1)


def item(row, rng):
    phase = rng.uniform(0, 2 * np.pi)
    wave = np.sin(2 * np.pi * row["item.stripes"] * np.arange(SIDE) / SIDE + phase)
    levels = row["item.light"] + 60 * wave[None, :] + rng.normal(0, 5, (SIDE, SIDE))
    return np.clip(levels, 0, 255).astype(np.uint8)


def transforms(columns, items):
    rows = items.astype(float).mean(axis=1)
    spectrum = np.abs(np.fft.rfft(rows - rows.mean(axis=1, keepdims=True), axis=1))
    return terms(columns["load"], spectrum.argmax(axis=1), rows.mean(axis=1))
