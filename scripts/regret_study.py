#!/usr/bin/env python3
"""Regret of `sft` and `grpo` against the best script of each task, before and after GRPO.

    scripts/regret_study.py EVAL...      folders of `rl eval`, one a seed

The best script of a task is the rung of the ladder with the best mean reward over its attempts;
the best fixed one has the best mean over all tasks. Intervals: 10,000 draws of seeds and of tasks,
95 %. Standard library only.
"""

import pathlib
import random
import statistics
import sys

from learning_study import DRAWS, by_task
from regret_corpus import RUNGS


def rewards(path):
    """The mean reward of each task."""
    return {task: statistics.fmean(them) for task, them in by_task(path).items()}


def rows(folder):
    """What each task of a seed gave: rungs, policies, and the best rung."""
    episodes = folder / "episodes"
    agents = {rung: rewards(episodes / "scripted" / f"{rung}.jsonl") for rung in RUNGS}
    agents |= {policy: rewards(episodes / f"{policy}.jsonl") for policy in ("sft", "grpo")}
    tasks = sorted(set.intersection(*(set(them) for them in agents.values())))
    return [{name: them[task] for name, them in agents.items()} for task in tasks]


def regret(seeds, policy):
    return statistics.fmean(max(row[rung] for rung in RUNGS) - row[policy] for rows in seeds for row in rows)


def interval(seeds, value):
    rng = random.Random(0)
    draws = []
    for _ in range(DRAWS):
        # The same tasks for all seeds, which have them in common.
        tasks = rng.choices(range(len(seeds[0])), k=len(seeds[0]))
        draws.append(value([[rows[it] for it in tasks] for rows in rng.choices(seeds, k=len(seeds))]))
    draws.sort()
    return f"{value(seeds):.3f} [{draws[int(0.025 * DRAWS)]:.3f}, {draws[int(0.975 * DRAWS)]:.3f}]"


def fall(seeds):
    """The share of the regret that is gone after GRPO."""
    before = regret(seeds, "sft")
    return 1 - regret(seeds, "grpo") / before if before else 0.0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seeds = [rows(pathlib.Path(folder)) for folder in sys.argv[1:]]
    print(f"{len(seeds)} seeds, {len(seeds[0])} held-out tasks")
    every = [row for rows in seeds for row in rows]
    means = {rung: statistics.fmean(row[rung] for row in every) for rung in RUNGS}
    fixed = max(means, key=means.get)
    print("mean rewards of scripts: " + ", ".join(f"{rung} {mean:.3f}" for rung, mean in means.items()))
    for name in ("sft", "grpo", fixed):
        print(f"regret of {name}: {interval(seeds, lambda them, name=name: regret(them, name))}")
    print(f"share of the regret that GRPO takes away: {interval(seeds, fall)}")


if __name__ == "__main__":
    main()
