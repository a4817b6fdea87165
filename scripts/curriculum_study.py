#!/usr/bin/env python3
"""Sums up the runs of `scripts/curriculum_study.sh`.

    scripts/curriculum_study.py FOLDER

Per seed and sampler: the share of groups with different rewards over the last half of the steps,
and reward on held-out tasks. Differences are taken within seeds; their 95 % intervals are Student's.
Standard library only.
"""

import json
import math
import pathlib
import statistics
import sys

SEEDS = (0, 1, 2)
# Student's quantile at 0.975 with two degrees of freedom.
T_975 = 4.302653


def lines(run):
    text = (run / "metrics.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def summary(run):
    """What a run is compared by."""
    steps = [line for line in lines(run) if "mixed_groups" in line]
    half = steps[len(steps) // 2 :]
    held_out = [line["validation"]["reward"] for line in lines(run) if line.get("validation")]
    mean = statistics.fmean
    return {
        "steps": len(steps),
        "mixed, first half": mean(line["mixed_groups"] for line in steps[: len(steps) // 2]),
        "mixed, last half": mean(line["mixed_groups"] for line in half),
        "held out, start": held_out[0],
        "held out, end": held_out[-1],
        "training reward, last half": mean(line["reward"] for line in half),
        "effective tasks": mean(line.get("effective_tasks", math.nan) for line in half),
        "expected mixed": mean(line.get("expected_mixed_groups", math.nan) for line in half),
        "episodes": sum(line["played"] for line in steps),
        "faults": sum(line["dropped"] for line in steps),
        "hours": sum(line["step_seconds"] for line in steps) / 3600,
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    runs = {
        (sampler, seed): summary(folder / f"{sampler}-{seed}")
        for seed in SEEDS
        for sampler in ("uniform", "adaptive")
    }
    for (sampler, seed), found in runs.items():
        cells = ", ".join(f"{name} {value:.3f}" for name, value in found.items())
        print(f"{sampler} {seed}: {cells}")
    for name in ("mixed, last half", "held out, end", "mixed, first half"):
        gains = [runs["adaptive", seed][name] - runs["uniform", seed][name] for seed in SEEDS]
        centre = statistics.fmean(gains)
        width = T_975 * statistics.stdev(gains) / math.sqrt(len(gains))
        each = ", ".join(f"{gain:+.3f}" for gain in gains)
        print(f"{name}, adaptive - uniform: {centre:+.3f} ± {width:.3f} ({each})")


if __name__ == "__main__":
    main()
