#!/usr/bin/env python3
"""What FT-Agent adds to a base (docs/STUDY.md), from the runs that `scripts/ft_study.sh` makes.

    scripts/ft_study.py keep SCRIPTED MANUAL FILE    what came of a task and a seed, as a small file
    scripts/ft_study.py report FOLDER                the outcomes, from all such files in FOLDER

Scores are those of single test items: of the base, and of the experiment with the best dev score of each
planner. Intervals: draws of seeds and of items, 10,000, 95 %.
"""

import json
import sys
from pathlib import Path

import numpy as np

DRAWS = 10_000


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_item(scored):
    return {item["id"]: item["score"] for item in scored["items"]}


def scores_of(run):
    """The test scores of the base and of the best experiment, by item."""
    ledger = lines(run / "sealed/ledger.jsonl")
    graded = [event for event in ledger if event["event"] in ("graded", "cached")]
    models = {event["id"]: event["model"] for event in ledger if event["event"] == "submitted"}
    base = ledger[0]["base"]
    best = models[max(graded, key=lambda event: event["score"])["id"]] if graded else base

    def tested(model):
        return by_item(json.loads((run / f"sealed/results/test-{model}.json").read_text()))

    return tested(base), tested(best)


def experiments_of(run):
    """How each experiment ended: its dev score, and whether it became the best one."""
    ended = [line for line in lines(run / "agent/journal.jsonl") if line["event"] == "ended"]
    outcomes = [line["outcome"] for line in ended]
    return [
        {"dev": outcome["evaluated"]["primary"], "accepted": outcome["acceptance"]["accepted"]}
        if outcome["ended"] == "evaluated"
        else {"dev": None, "accepted": False, "stage": outcome["stage"], "class": outcome["class"]}
        for outcome in outcomes
    ]


def keep(scripted, manual, file):
    base, best = scores_of(scripted)
    _, by_rule = scores_of(manual)
    items = sorted(base)
    kept = {
        "base": [base[item] for item in items],
        "scripted": [best[item] for item in items],
        "manual": [by_rule[item] for item in items],
        "experiments": {"scripted": experiments_of(scripted), "manual": experiments_of(manual)},
    }
    file.write_text(json.dumps(kept) + "\n")


def interval(differences):
    """Mean, lower and upper end, of a matrix of seeds and items."""
    rng = np.random.default_rng(0)
    seeds, items = differences.shape
    draws = [
        differences[rng.integers(seeds, size=seeds)][:, rng.integers(items, size=items)].mean()
        for _ in range(DRAWS)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    return differences.mean(), low, high


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
        scores = {
            name: np.array([result[name] for result in results]) for name in ("base", "scripted", "manual")
        }
        gain, low, high = interval(scores["scripted"] - scores["base"])
        more, *ends = interval(scores["scripted"] - scores["manual"])
        above_base += low > 0
        above_manual += more > 0
        tried = [it for result in results for it in result["experiments"]["scripted"]]
        accepted, ended = accepted + sum(it["accepted"] for it in tried), ended + len(tried)
        means = " | ".join(f"{matrix.mean():.3f}" for matrix in scores.values())
        print(
            f"| `{task}` | {len(results)} | {means} | {gain:+.3f} [{low:+.3f}, {high:+.3f}] "
            f"| {more:+.3f} [{ends[0]:+.3f}, {ends[1]:+.3f}] |"
        )
    print(f"\n(a) above the base, with an interval above 0: {above_base} of {len(found)} tasks")
    print(f"(b) above manual: {above_manual} of {len(found)} tasks")
    print(f"(c) experiments that became the best one: {accepted} of {ended}, {accepted / ended:.1%}")


def main():
    match sys.argv[1:]:
        case ["keep", scripted, manual, file]:
            keep(Path(scripted), Path(manual), Path(file))
        case ["report", folder]:
            report(Path(folder))
        case _:
            sys.exit(__doc__)


main()
