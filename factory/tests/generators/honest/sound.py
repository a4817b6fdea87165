"""Draws the hum of a motor: pitch and level are hidden columns."""

import numpy as np

VERSION = 1
SAMPLES = 2000


def columns(rng, n):
    return {
        "load": np.clip(rng.normal(50, 18, n), 0, 100),
        "item.pitch": rng.uniform(20, 200, n),
        "item.level": rng.uniform(0.2, 0.9, n),
    }


def terms(load, pitch, level):
    return np.column_stack([(load - 50) / 18 * (pitch - 110) / 50, (level - 0.55) / 0.2])


def score(columns):
    return terms(columns["load"], columns["item.pitch"], columns["item.level"]).sum(axis=1)


def item(row, rng):
    time = np.arange(SAMPLES) / SAMPLES
    return row["item.level"] * np.sin(2 * np.pi * (row["item.pitch"] * time + rng.uniform()))


def transforms(columns, items):
    pitch = np.abs(np.fft.rfft(items, axis=1)).argmax(axis=1)
    return terms(columns["load"], pitch, np.abs(items).max(axis=1))
