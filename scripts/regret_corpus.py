#!/usr/bin/env python3
"""Chooses tasks of which linear models, forests and searches for products each win a third.

    scripts/regret_corpus.py TASKS OUT LADDER...

TASKS is a corpus, each LADDER a folder of `rl eval --scripted` on one of its splits. A rung wins a
task if its mean reward is the best and above the others' by MARGIN; in each split as many tasks
of each winner are kept as the rarest winner has, the clearest first. OUT gets links to them.
Standard library only.
"""

import json
import pathlib
import statistics
import sys

RUNGS = ["linear", "forest", "operators"]
MARGIN = 0.1


def winners(ladder):
    """The tasks that each rung wins, the clearest first."""
    rewards = {}
    for rung in RUNGS:
        for line in (ladder / "episodes" / "scripted" / f"{rung}.jsonl").read_text().splitlines():
            episode = json.loads(line)
            task = rewards.setdefault(episode["task"], {})
            task.setdefault(rung, []).append(sum(episode["reward"].values()))
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
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    tasks, out, *ladders = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    for ladder in ladders:
        won = winners(ladder)
        each = min(map(len, won.values()))
        counts = ", ".join(f"{rung} {len(them)}" for rung, them in won.items())
        print(f"{ladder}: won by {counts}; {each} of each are kept")
        if not each:
            sys.exit(f"error: a rung wins no task of {ladder}; generate more tasks")
        for them in won.values():
            for task in them[:each]:
                link = out / task
                if not link.is_symlink():
                    link.symlink_to((tasks / task).resolve())


if __name__ == "__main__":
    main()
