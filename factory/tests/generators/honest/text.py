"""Writes reports of repairs: how many faults and how many visits are hidden columns."""

import numpy as np

VERSION = 1
FAULTS = ["leak", "crack", "rattle", "stain", "dent"]


def columns(rng, n):
    return {
        "load": np.clip(rng.normal(50, 18, n), 0, 100),
        "item.faults": rng.integers(1, 7, n).astype(float),
        "item.visits": rng.integers(1, 6, n).astype(float),
    }


def terms(load, faults, visits):
    return np.column_stack([(load - 50) / 18 * (faults - 3.5) / 1.7, (visits - 3) / 1.4])


def score(columns):
    return terms(columns["load"], columns["item.faults"], columns["item.visits"]).sum(axis=1)


def item(row, rng):
    faults = [f"A {rng.choice(FAULTS)} was found." for _ in range(int(row["item.faults"]))]
    visits = [f"Visit on day {rng.integers(1, 300)}." for _ in range(int(row["item.visits"]))]
    return " ".join(rng.permutation(faults + visits))


def transforms(columns, items):
    faults = np.array([text.count("was found") for text in items])
    visits = np.array([text.count("Visit") for text in items])
    return terms(columns["load"], faults, visits)
