"""Draws bolts of a joinery: a product of deviations, a threshold by wood, a ratio."""

import numpy as np

VERSION = 1
OAK = 1.3


def columns(rng, n):
    return {
        "load": np.clip(rng.normal(50, 18, n), 0, 100),
        "speed": rng.uniform(1, 9, n),
        "age": np.clip(rng.exponential(9, n) + 1, 1, 60),
        "wood": rng.choice(["oak", "ash", "elm"], n, p=[0.4, 0.4, 0.2]).tolist(),
    }


def parts(columns):
    load = (columns["load"] - 50) / 18
    speed = (columns["speed"] - 5) / 2.3
    slow = np.where(columns["wood"] == "oak", OAK * speed, -speed)
    wear = np.log(columns["age"] / columns["speed"])
    return np.column_stack([load * speed, slow, wear])


def score(columns):
    return parts(columns) @ np.array([1.0, 0.8, 0.5])


def transforms(columns, items):
    return parts(columns)
