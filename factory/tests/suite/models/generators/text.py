"""Logs of rounds: what a model could write, up to the columns of the task."""

import numpy as np

VERSION = 1
NOTES = ["all was in order", "the lamp was on", "a gate was shut", "the key was there", "rain fell"]
PLACES = ["shed", "yard", "dock", "hall", "barn", "roof", "cellar", "tower", "mill", "lane", "well", "pump"]


def hidden(rng, n):
    return {
        "item.notes": np.round(np.clip(rng.normal(8, 2.6, n), 2, 14)),
        "item.leaks": rng.integers(1, 6, n).astype(float),
        "item.visits": rng.integers(1, 6, n).astype(float),
    }


def item(row, rng):
    """A log of rounds: plain notes, leaks, and visits on numbered days."""
    notes = [f"At the {rng.choice(PLACES)} {rng.choice(NOTES)}." for _ in range(int(row["item.notes"]))]
    leaks = [f"A leak at the {rng.choice(PLACES)}." for _ in range(int(row["item.leaks"]))]
    days = sorted(int(day) for day in rng.choice(np.arange(1, 300), int(row["item.visits"]), replace=False))
    visits = [f"Day {day}: {rng.choice(PLACES)} and {rng.choice(PLACES)}." for day in days]
    return " ".join(rng.permutation(notes + leaks + visits).tolist())


def measured(items):
    """Estimates of the hidden columns from texts; misspelt words are longer ones."""
    leaks, visits, notes = [], [], []
    for text in items:
        leaks.append(text.count("leak at"))
        visits.append(text.count("Day "))
        notes.append(text.count("At the"))
    return {
        "item.leaks": np.array(leaks, dtype=float),
        "item.visits": np.array(visits, dtype=float),
        "item.notes": np.array(notes, dtype=float),
    }
