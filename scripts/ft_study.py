#!/usr/bin/env python3
"""What FT-Agent adds to a base (docs/STUDY.md), from the runs that `scripts/ft_study.sh` makes.

    scripts/ft_study.py keep SCRIPTED MANUAL FILE    what came of a task and a seed, as a small file
    scripts/ft_study.py report FOLDER                the outcomes, from all such files in FOLDER

Of the base, and of the experiment with the best dev score of each planner: the task's score on the test
items, and the scores of single items, which differences are made of. Where a task's score is no mean of its
items (docs/STUDY.md), differences are not those of the scores beside them. Intervals: draws of seeds and of
items, 10,000, 95 %.
"""

import json
import sys
from pathlib import Path

import numpy as np
from graded_run import GradedRun, by_item, interval, read_lines, shown

PLANNERS = ("scripted", "manual")


def experiments_of(run):
    """How each experiment ended: its dev score, and whether it became the best one."""
    ended = [line for line in read_lines(run / "agent/journal.jsonl") if line["event"] == "ended"]
    outcomes = [line["outcome"] for line in ended]
    return [
        {"dev": outcome["evaluated"]["primary"], "accepted": outcome["acceptance"]["accepted"]}
        if outcome["ended"] == "evaluated"
        else {"dev": None, "accepted": False, "stage": outcome["stage"], "class": outcome["class"]}
        for outcome in outcomes
    ]


def keep(scripted, manual, file):
    runs = {"scripted": GradedRun(scripted), "manual": GradedRun(manual)}
    results = {name: run.tested(run.best) for name, run in runs.items()}
    results["base"] = runs["scripted"].tested(runs["scripted"].base)
    items = {name: by_item(of) for name, of in results.items()}
    kept = {
        "scores": {name: of["score"] for name, of in results.items()},
        "items": {name: [of[item] for item in sorted(items["base"])] for name, of in items.items()},
        "experiments": {name: experiments_of(run.folder) for name, run in runs.items()},
    }
    file.write_text(json.dumps(kept, sort_keys=True) + "\n")


def report(folder):
    found = {}
    for file in sorted(folder.glob("*-seed-*.json")):
        found.setdefault(file.stem.rsplit("-seed-", 1)[0], []).append(json.loads(file.read_text()))
    if not found:
        sys.exit(f"error: no file of results is in {folder}")
    print("| task | seeds | base | FT-Agent | manual | FT-Agent minus base | FT-Agent minus manual |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    above_base = above_manual = accepted = ended = 0
    for task, results in found.items():
        items = {
            name: np.array([result["items"][name] for result in results]) for name in ("base", *PLANNERS)
        }
        gain = interval(items["scripted"] - items["base"])
        more = interval(items["scripted"] - items["manual"])
        above_base += gain[1] > 0
        above_manual += more[0] > 0
        tried = [it for result in results for it in result["experiments"]["scripted"]]
        accepted, ended = accepted + sum(it["accepted"] for it in tried), ended + len(tried)
        scores = " | ".join(
            f"{np.mean([result['scores'][name] for result in results]):.3f}" for name in items
        )
        print(f"| `{task}` | {len(results)} | {scores} | {shown(gain)} | {shown(more)} |")
    print(f"\n(a) above the base, with an interval above 0: {above_base} of {len(found)} tasks")
    print(f"(b) above manual: {above_manual} of {len(found)} tasks")
    share = accepted / ended if ended else 0.0
    print(f"(c) experiments that became the best one: {accepted} of {ended}, {share:.1%}")


def main():
    match sys.argv[1:]:
        case ["keep", scripted, manual, file]:
            keep(Path(scripted), Path(manual), Path(file))
        case ["report", folder]:
            report(Path(folder))
        case _:
            sys.exit(__doc__)


main()
