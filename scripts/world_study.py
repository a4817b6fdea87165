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
from graded_run import GradedRun, by_item, interval, shown


def sft_of(run, task):
    """The scores of the SFT model, which are kept beside the run."""
    kept = run / "sft-test.json"
    if not kept.exists():
        command = ["rl", "eval", "--world", task, "--part", "test", "--policy"]
        command += [f"model={run}/workspace/output/sft", "--out", f"{run}/sft-eval", "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        kept.write_text(done.stdout)
    return by_item(json.loads(kept.read_text()))


def scores_of(folder):
    """The test scores of base, SFT model and best submission, and dev scores in the order of submission."""
    asked = tomllib.loads((folder / "run.toml").read_text())
    run = GradedRun(folder)
    scores = {
        "base": by_item(run.tested(run.base)),
        "sft": sft_of(folder, f"{asked['suite']}/{asked['task']}"),
        "best": by_item(run.tested(run.best)),
    }
    return scores, run.dev


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
    print(f"(a) best minus base: {shown(interval(matrix['best'] - matrix['base']))}")
    print(f"(b) best minus SFT: {shown(interval(matrix['best'] - matrix['sft']))}")
    print(f"    SFT minus base: {shown(interval(matrix['sft'] - matrix['base']))}")
    print(f"{len(runs)} seeds, {len(items)} items")


main()
