"""Reads a soundscape as three kinds of solvers would: `read(data)` gives (plain, generic, estimates).

Plain is what someone in a hurry computes, generic what a practised engineer computes who has not
listened. The estimates are, in this order: background, loudness, approach, brightness, gusts, calls,
notes, quickening, slide, interval.
"""

import io
import wave

import numpy as np
from scipy.ndimage import maximum_filter1d

RATE = 16000
TINY = 1e-12
FRAME = 256  # samples; frames overlap by half
BINS = FRAME // 2 + 1
WINDOW = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(FRAME) / FRAME)
EDGES = [1, 3, 6, 10, 16, 24, 34, 46, 62, 84, BINS]  # of the frequency bands, in bins
LOWEST, SWELLING = 4, 40  # bins: below are hum and rumble; above, a microphone's own noise
PITCHES = np.arange(BINS) * RATE / FRAME
NOTHING = [-51.0, -25.0, 0.0, -11.0, 2.5, 0.0, 0.0, 0.0, 0.0, 0.0]


def read(data):
    with wave.open(io.BytesIO(data)) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2") / 32768.0
    halves = samples.reshape(-1, FRAME // 2)
    frames = np.concatenate([halves[:-1], halves[1:]], axis=1)
    spectra = np.fft.rfft(frames * WINDOW)
    power = (spectra.real**2 + spectra.imag**2) * (2.0 / ((WINDOW**2).sum() * FRAME))
    readings = plain(samples), generic(samples, power), estimates(power)
    return tuple([float(value) for value in reading] for reading in readings)


def decibels(power):
    return 10.0 * np.log10(power + TINY)


def ranked(values, rank):
    return np.partition(values, rank, axis=0)[rank]


def parts(values, count):
    edges = np.arange(count + 1) * len(values) // count
    return [values[start:end] for start, end in zip(edges, edges[1:])]


# What solvers compute who have not listened.


def plain(samples):
    blocks = (samples.reshape(-1, FRAME) ** 2).mean(axis=1)
    thirds = parts(blocks, 3)
    return [
        decibels(blocks.mean()),
        *(decibels(third.mean()) for third in thirds),
        *(decibels(third.max()) for third in thirds),
        decibels(np.abs(samples).max() ** 2),
        decibels(ranked(blocks, len(blocks) * 2 // 5)),
    ]


def generic(samples, power):
    bands = decibels(np.add.reduceat(power, EDGES[:-1], axis=1))
    profile = bands.mean(axis=0)
    spectra = np.array([part.sum(axis=0) for part in parts(power, 3)])
    totals = spectra.sum(axis=1) + TINY
    course = decibels(totals)
    levels = decibels(power[:, 2:].sum(axis=1))
    tops = np.array([part.max() for part in parts(levels, 3)])
    ordered, count = np.sort(levels), len(levels)
    middle = ordered[count // 2]
    return [
        *(profile - profile.mean()),
        *bands[:, ::2].std(axis=0),
        *(spectra @ np.arange(BINS) / totals),
        *(course[1:] - course[0]),
        *(tops[1:] - tops[0]),
        middle,
        ordered[count * 19 // 20] - middle,
        (levels > 0.5 * (ordered[count // 4] + ordered[-1])).mean(),
        np.std([part.min() for part in parts(levels, 16)]),
        np.abs(np.diff(bands, axis=0)).mean(),
        decibels(np.abs(samples).max() ** 2),
    ]


# Finding the notes, and the calls that they make.


def strength(power):
    """How strong the pitches of calls are in every frame against the background, in decibels."""
    heard = power[:, LOWEST:]
    count = len(heard)
    relative = heard / (ranked(heard, count // 3) / 0.405 + TINY)
    levels = decibels(relative.mean(axis=1))
    quiet, loud = ranked(levels, count // 2), ranked(levels, count - 8)
    excess = relative[levels >= quiet + 0.4 * (loud - quiet)].mean(axis=0) - relative.mean(axis=0)
    weights = np.sqrt(np.maximum(excess, 0.0))
    weights += 0.03 * max(weights.max(), TINY)
    course = np.pad(relative @ weights / weights.sum(), 1)
    return decibels(0.25 * (course[:-2] + course[2:]) + 0.5 * course[1:-1])


def peaks(curve):
    """The frames of notes: far above the background, with dips between them, and no echoes."""
    base, top = ranked(curve, len(curve) // 4), ranked(curve, len(curve) - 8)
    near = maximum_filter1d(curve, 9, mode="nearest")
    wide = maximum_filter1d(curve, 25, mode="nearest")
    stands_out = (curve > base + max(0.5 * (top - base), 4.0)) & (curve >= near) & (curve > wide - 7.0)
    kept = []
    for place in np.flatnonzero(stands_out):
        higher = True
        while kept and curve[kept[-1] : place + 1].min() > min(curve[kept[-1]], curve[place]) - 5.0:
            if curve[place] <= curve[kept[-1]]:
                higher = False
                break
            kept.pop()
        if higher:
            kept.append(place)
    return np.array(kept, int)


# Measuring them.


def estimates(power):
    notes = peaks(strength(power))
    if len(notes) < 3:
        return NOTHING
    gaps = np.diff(notes)
    ends = np.flatnonzero(gaps > 1.5 * ranked(gaps, len(gaps) // 4))
    calls = np.split(notes, ends + 1)
    # Calls have several notes; a single one is a rustle.
    if any(len(call) > 1 for call in calls):
        calls = [call for call in calls if len(call) > 1]
    notes = np.concatenate(calls)
    edges = np.cumsum([0, *(len(call) for call in calls)])
    calls = list(zip(edges, edges[1:]))
    usual, level, brightness, gusts = rest(power, [(notes[a], notes[b - 1]) for a, b in calls])

    pitch, loud, energy = np.transpose([heard(power, usual, note) for note in notes])
    times = np.array([0.5 * (notes[a] + notes[b - 1]) / len(power) - 0.5 for a, b in calls])
    levels = np.array([loud[a:b].mean() for a, b in calls])
    # Where a note falls between frames, its level is lower and its energy is not.
    approach = slope(times, np.array([energy[a:b].mean() for a, b in calls]))
    loudness = levels.mean() - approach * times.mean()
    off = np.concatenate([np.arange(b - a) - 0.5 * (b - a - 1) for a, b in calls])
    per_call = len(notes) / len(calls)
    slide = (off @ pitch) / (off @ off + TINY) * int(per_call - 0.5)
    starts = np.array([notes[a] for a, _ in calls])
    quickening = 0.0
    if len(starts) > 2:
        intervals = np.log2(np.diff(starts))
        quickening = -slope(np.arange(len(intervals)) / (len(intervals) - 1), intervals)
    means = np.sort([pitch[a:b].mean() for a, b in calls])
    interval = 0.0
    if len(means) > 1:
        widest = 1 + int(np.argmax(np.diff(means)))
        interval = means[widest:].mean() - means[:widest].mean()
    counts = [len(calls), per_call]
    return [level, loudness, approach, brightness, gusts, *counts, quickening, slide, interval]


def rest(power, calls):
    """The background where nothing calls: its usual spectrum, level, brightness and swelling."""
    quiet = np.ones(len(power), bool)
    for first, last in calls:
        quiet[max(0, first - 10) : last + 21] = False
    if quiet.sum() < 20:
        quiet[:] = True
    times, kept = np.flatnonzero(quiet), power[quiet]
    # The median of powers of noise is ln 2 times their mean.
    usual = ranked(kept, len(kept) // 2) / np.log(2.0) + TINY
    course = decibels((kept[:, LOWEST:SWELLING] / usual[LOWEST:SWELLING]).mean(axis=1))
    best = None
    for swells in (2, 3, 4):
        turn = 2.0 * np.pi * swells * times / len(power)
        design = np.stack([np.ones(len(times)), np.cos(turn), np.sin(turn)], axis=1)
        found = np.linalg.solve(design.T @ design, design.T @ course)
        left = ((course - design @ found) ** 2).sum()
        if best is None or left < best[0]:
            best = left, found
    middle, cosine, sine = best[1]
    low, high = (
        decibels(usual[(PITCHES >= start) & (PITCHES <= end)].mean())
        for start, end in ((500, 1500), (4000, 7000))
    )
    return usual, decibels(usual[LOWEST:].sum()) + middle, high - low, np.hypot(cosine, sine)


def heard(power, usual, note):
    """Pitch in semitones, level and energy in decibels of the note that is loudest in this frame."""
    frames = power[max(0, note - 2) : note + 3]
    powers = frames.sum(axis=1) - usual.sum()
    level, energy = decibels(max(powers.max(), 0.0)), decibels(max(powers.sum(), 0.0))
    spectrum = np.maximum(frames.sum(axis=0) - 1.5 * len(frames) * usual, 0.0)
    spectrum[:LOWEST] = 0.0
    padded = np.pad(spectrum, 1)
    middle = LOWEST + int(np.argmax((0.5 * (padded[:-2] + padded[2:]) + spectrum)[LOWEST:]))
    bins = np.arange(BINS)
    near = (bins >= 0.7 * middle - 0.5) & (bins <= 1.4 * middle + 0.5)
    moment = bins[near] @ spectrum[near] + TINY * middle
    return 12.0 * np.log2(moment / (spectrum[near].sum() + TINY)), level, energy


def slope(places, values):
    off = places - places.mean()
    return (off @ (values - values.mean())) / (off @ off + TINY)
