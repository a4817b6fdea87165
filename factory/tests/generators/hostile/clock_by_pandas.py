"""Reads the clock through a library."""
# base: table
# must: not_deterministic
import pandas as pd


def score(columns):
    return parts(columns).sum(axis=1) + 1e-9 * (pd.Timestamp.now().value % 1_000_000)
