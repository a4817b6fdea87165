#!/usr/bin/env python3
"""The primary outcomes of the guidance study.

    scripts/guidance_study.py OUT EVAL...      the study's folder, and folders of `rl eval`, one a seed

Differences of mean rewards with 95 % intervals: 10,000 draws of seeds and of tasks. Standard library
only.
"""

import json
import pathlib
import random
import statistics
import sys

from guidance_samples import BRONZE
from learning_study import DRAWS, by_task, episodes

# Aims: the first arm minus the second.
PAIRS = [("Q", "base"), ("Q", "R"), ("C", "B"), ("credit", "plain"), ("stuck", "plain")]


def means(path):
    """The mean reward of each task."""
    return {task: statistics.fmean(them) for task, them in by_task(path).items()}


def interval(seeds):
    """Of a difference on each task of each seed."""
    rng = random.Random(0)
    draws = []
    for _ in range(DRAWS):
        # The same tasks for all seeds, which have them in common.
        tasks = rng.choices(range(len(seeds[0])), k=len(seeds[0]))
        draws.append(
            statistics.fmean(rows[task] for rows in rng.choices(seeds, k=len(seeds)) for task in tasks)
        )
    draws.sort()
    mean = statistics.fmean(row for rows in seeds for row in rows)
    return f"{mean:+.3f} [{draws[int(0.025 * DRAWS)]:+.3f}, {draws[int(0.975 * DRAWS)]:+.3f}]"


def differences(first, second):
    tasks = sorted(first.keys() & second.keys())
    return [first[task] - second[task] for task in tasks]


def all_of(paths):
    return [episode for path in paths for episode in episodes(path)]


def share(them, holds):
    return sum(map(holds, them)) / max(len(them), 1)


def is_bronze(episode):
    grade = episode["outcome"]["mle"]["grade"]
    return bool(grade) and grade.get("tier") in BRONZE


def searches_first(episode):
    first = next((it["text"] for it in episode["segments"] if it["source"] == "model"), "")
    return "triu_indices" in first


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out, evals = pathlib.Path(sys.argv[1]), [pathlib.Path(folder) for folder in sys.argv[2:]]
    # Folders of `rl eval`, one a seed.
    alone, guided = (
        [folder / "episodes" / "base.jsonl" for folder in sorted(out.glob(f"{name}-*"))]
        for name in ("alone", "guided")
    )
    print(f"unguided first turns that search for products: {share(all_of(alone), searches_first):.1%}")
    collected = [differences(means(one), means(other)) for one, other in zip(guided, alone, strict=True)]
    print(f"collection, guided - alone: {interval(collected)}, seeds: {len(collected)}")
    usable = [share(all_of(paths), is_bronze) for paths in (guided, alone)]
    print(f"episodes that reach bronze: guided {usable[0]:.1%}, alone {usable[1]:.1%}")
    contexts = json.loads((out / "Q" / "manifest.json").read_text())["contexts"]
    print(f"contexts of Q: {json.dumps(contexts, sort_keys=True)}")
    rows = [{path.stem: means(path) for path in (folder / "episodes").glob("*.jsonl")} for folder in evals]
    for policy in sorted(rows[0]):
        reward = statistics.fmean(mean for row in rows for mean in row[policy].values())
        print(f"held out, unguided: {policy} {reward:.3f}")
    for first, second in PAIRS:
        seeds = [differences(row[first], row[second]) for row in rows]
        signs = "".join("-0+"[(mean > 0) - (mean < 0) + 1] for mean in map(statistics.fmean, seeds))
        print(f"{first} - {second}: {interval(seeds)}, seeds {signs}")


if __name__ == "__main__":
    main()
