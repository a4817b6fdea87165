"""Tones whose level beats: what a model could write, up to the columns of the task."""

import numpy as np
import scipy.ndimage

VERSION = 1
SAMPLES = 8192


def hidden(rng, n):
    return {
        "item.level": rng.uniform(-20, -8, n),
        "item.pitch": rng.uniform(220, 900, n),
        "item.beats": rng.integers(4, 15, n).astype(float),
    }


def item(row, rng):
    """A tone with two overtones whose level beats; 8000 samples are a second."""
    time = np.arange(SAMPLES) / 8000
    level = 10 ** (row["item.level"] / 20)
    beat = 1 + 0.5 * np.sin(2 * np.pi * (row["item.beats"] * time / time[-1] + rng.uniform()))
    phase = 2 * np.pi * (row["item.pitch"] * time + rng.uniform())
    tone = np.sin(phase) + 0.4 * np.sin(2 * phase) + 0.2 * np.sin(3 * phase)
    return np.clip(level * beat * tone / 2.6 + rng.normal(0, 0.002, SAMPLES), -1, 1)


def measured(items):
    """Estimates of the hidden columns from sounds."""
    items = np.asarray(items, dtype=float)
    level = 20 * np.log10(np.sqrt((items**2).mean(axis=1)) + 1e-9) + 9.7
    spectrum = np.abs(np.fft.rfft(items * np.hanning(SAMPLES), axis=1))
    hertz = np.fft.rfftfreq(SAMPLES, 1 / 8000)
    band = (hertz > 200) & (hertz < 950)
    pitch = hertz[band][spectrum[:, band].argmax(axis=1)]
    power = scipy.ndimage.uniform_filter1d(items**2, 101, axis=1)
    swing = np.log(power + 1e-7)
    swing = swing - swing.mean(axis=1, keepdims=True)
    beats = 4 + np.abs(np.fft.rfft(swing, axis=1))[:, 4:15].argmax(axis=1)
    return {"item.level": level, "item.pitch": pitch, "item.beats": beats.astype(float)}
