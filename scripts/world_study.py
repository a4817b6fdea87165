#!/usr/bin/env python3
"""What SFT and GRPO add to a base in a world (docs/STUDY.md): runs of an agent like `scripted/sft-grpo`
on a task, one a seed, compared on test items.

    scripts/world_study.py RUN...

The server has scored base and best submission on them. The SFT model is scored here, by the `rl` on the
PATH. Intervals: draws of seeds and of items, 10,000, 95 %.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np

DRAWS = 10_000


def by_item(scored):
    return {item["id"]: item["score"] for item in scored["items"]}


def events(run):
    lines = (run / "sealed/ledger.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def sft_of(run, task):
    """The scores of the SFT model, which are kept beside the run."""
    kept = run / "sft-test.json"
    if not kept.exists():
        command = ["rl", "eval", "--world", task, "--part", "test", "--policy"]
        command += [f"model={run}/workspace/output/sft", "--out", f"{run}/sft-eval", "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        kept.write_text(done.stdout)
    return by_item(json.loads(kept.read_text()))


def scores_of(run):
    """The test scores of base, SFT model and best submission, and dev scores in the order of submission."""
    asked = tomllib.loads((run / "run.toml").read_text())
    ledger = events(run)
    graded = [event for event in ledger if event["event"] in ("graded", "cached")]
    models = {event["id"]: event["model"] for event in ledger if event["event"] == "submitted"}
    best = max(graded, key=lambda event: event["score"])

    def tested(model):
        return by_item(json.loads((run / f"sealed/results/test-{model}.json").read_text()))

    scores = {
        "base": tested(ledger[0]["base"]),
        "sft": sft_of(run, f"{asked['suite']}/{asked['task']}"),
        "best": tested(models[best["id"]]),
    }
    return scores, [event["score"] for event in graded]


def interval(differences):
    """The mean of a matrix of seeds and items, and its interval."""
    rng = np.random.default_rng(0)
    seeds, items = differences.shape
    draws = []
    for _ in range(DRAWS):
        chosen = differences[rng.integers(seeds, size=seeds)][:, rng.integers(items, size=items)]
        draws.append(chosen.mean())
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{differences.mean():+.3f} [{low:+.3f}, {high:+.3f}]"


def main():
    runs = [Path(name) for name in sys.argv[1:]]
    if not runs:
        sys.exit("error: name the folders of runs, one a seed")
    found = [scores_of(run) for run in runs]
    items = sorted(found[0][0]["base"])
    matrix = {
        name: np.array([[scores[name][item] for item in items] for scores, _ in found])
        for name in ("base", "sft", "best")
    }
    for run, (_, dev) in zip(runs, found, strict=True):
        print(f"{run.name}: dev {' '.join(f'{score:.3f}' for score in dev)}")
    for name, scores in matrix.items():
        print(f"{name}: test {' '.join(f'{mean:.3f}' for mean in scores.mean(axis=1))}")
    print(f"(a) best minus base: {interval(matrix['best'] - matrix['base'])}")
    print(f"(b) best minus SFT: {interval(matrix['best'] - matrix['sft'])}")
    print(f"    SFT minus base: {interval(matrix['sft'] - matrix['base'])}")
    print(f"{len(runs)} seeds, {len(items)} items")


main()
