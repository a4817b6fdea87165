#!/usr/bin/env python3
"""Chooses tasks of which linear models, forests and searches for products each win a third.

    scripts/regret_corpus.py TASKS LADDER OUT

TASKS is a corpus, LADDER a folder of `rl eval --scripted --split train` on it. A rung wins a task
if its mean reward is the best and above the others' by MARGIN; as many tasks of each winner are
kept as the rarest winner has, the clearest first. Of each winner's tasks, every third is linked
from OUT/held-out and the others from OUT/train. Standard library only.
"""

import pathlib
import statistics
import sys

from learning_study import by_task

RUNGS = ["linear", "forest", "operators"]
MARGIN = 0.1


def winners(ladder):
    """The tasks that each rung wins, the clearest first."""
    episodes = ladder / "episodes" / "scripted"
    rewards = {}
    for rung in RUNGS:
        for task, them in by_task(episodes / f"{rung}.jsonl").items():
            rewards.setdefault(task, {})[rung] = them
    won = {rung: [] for rung in RUNGS}
    for task, row in sorted(rewards.items()):
        if len(row) < len(RUNGS):
            continue
        (best, rung), (second, _), *_ = sorted(
            ((statistics.fmean(them), rung) for rung, them in row.items()), reverse=True
        )
        if best - second >= MARGIN - 1e-9:
            won[rung].append((second - best, task))
    return {rung: [task for _, task in sorted(them)] for rung, them in won.items()}


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    tasks, ladder, out = map(pathlib.Path, sys.argv[1:])
    won = winners(ladder)
    each = min(map(len, won.values()))
    counts = ", ".join(f"{rung} {len(them)}" for rung, them in won.items())
    print(f"won by {counts}; {each} of each are kept")
    if each < 3:
        sys.exit("error: too few; generate more tasks")
    for them in won.values():
        for place, task in enumerate(them[:each]):
            folder = out / ("held-out" if place % 3 == 2 else "train")
            folder.mkdir(parents=True, exist_ok=True)
            link = folder / task
            if not link.is_symlink():
                link.symlink_to((tasks / task).resolve())


if __name__ == "__main__":
    main()
