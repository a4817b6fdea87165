"""What studies read of a run of `posttrain`, and how they compare models."""

import json

import numpy as np

DRAWS = 10_000


class GradedRun:
    """A run that has ended: its base, its best submission, and their results on test items."""

    def __init__(self, folder):
        ledger = read_lines(folder / "sealed/ledger.jsonl")
        graded = [event for event in ledger if event["event"] in ("graded", "cached")]
        models = {event["id"]: event["model"] for event in ledger if event["event"] == "submitted"}
        self.folder = folder
        self.base = ledger[0]["base"]
        # Of equal scores the first; without any submission the base.
        self.best = models[max(graded, key=lambda event: event["score"])["id"]] if graded else self.base
        self.dev = [event["score"] for event in graded]

    def tested(self, model):
        """The test results of a model: `score`, and `items` with their scores."""
        return json.loads((self.folder / f"sealed/results/test-{model}.json").read_text())


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_item(results):
    return {item["id"]: item["score"] for item in results["items"]}


def interval(differences):
    """Mean, lower and upper end of a matrix of seeds and items: draws of both, 95 %."""
    rng = np.random.default_rng(0)
    seeds, items = differences.shape
    draws = [
        differences[rng.integers(seeds, size=seeds)][:, rng.integers(items, size=items)].mean()
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    return differences.mean(), low, high


def shown(found):
    mean, low, high = found
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"
