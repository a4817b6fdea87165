"""Reads a recording as three kinds of solvers would: `read(data)` gives (plain, generic, estimates).

Plain is what someone in a hurry computes, generic what a practised engineer computes who has not
listened. The estimates are, in this order: loudness, swell, pitch, falloff, tremolo depth, tremolo
rate, chirp, clicks, hollowness.
"""

import io
import wave
from functools import lru_cache

import numpy as np
from scipy.ndimage import maximum_filter1d

RATE = 8000
TINY = 1e-12

SEGMENTS = 8  # of the plain features
FRAME = 512  # samples; frames overlap by half
BINS = FRAME // 2 + 1
EDGES = [2, 5, 9, 14, 21, 32, 48, 74, 112, 168, BINS]  # of the frequency bands, in bins
LAGS = np.arange(16, 49)  # of the autocorrelation, in samples

BLOCK, WINDOW, HOP = 16, 8, 4  # samples, blocks, blocks: of the envelopes
INTERVAL = BLOCK * HOP / RATE  # seconds from one envelope value to the next
PARTIALS, COMPARED, SHARED = 6, 5, 3
ONES = np.ones(BLOCK)
REACH = 30  # blocks of 8 samples either side of a click that are quieter


def read(data):
    with wave.open(io.BytesIO(data)) as recording:
        samples = np.frombuffer(recording.readframes(recording.getnframes()), "<i2") / 32768.0
    halves = samples.reshape(-1, FRAME // 2)
    frames = np.concatenate([halves[:-1], halves[1:]], axis=1)
    power = np.abs(np.fft.rfft(frames * hann(FRAME, 0.0))) ** 2
    readings = plain(samples), generic(samples, power), estimates(samples, power)
    return tuple([float(value) for value in reading] for reading in readings)


def decibels(power):
    return 10.0 * np.log10(power + TINY)


@lru_cache(maxsize=None)
def hann(length, offset):
    return 0.5 - 0.5 * np.cos(2.0 * np.pi * (np.arange(length) + offset) / length)


