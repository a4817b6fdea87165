#!/usr/bin/env python3
"""Sums up the runs of `scripts/learning_study.sh`.

    scripts/learning_study.py collect RUN RESULT.json      one corpus and seed, in a small file
    scripts/learning_study.py summary RESULT.json...       all of them, with intervals

The outcomes are those of docs/STUDY.md. Intervals: 10,000 draws of corpora, of seeds and of tasks within
them, 95 %. Standard library only.
"""

import json
import pathlib
import random
import statistics
import sys

DRAWS = 10_000
POLICIES = ["sft", "best", "rft", "grpo", "shuffled", "format", "sparse"]


def episodes(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_task(path):
    """The rewards of each task's episodes, in the order of their attempts."""
    rewards = {}
    for episode in sorted(episodes(path), key=lambda it: it["attempt"]):
        rewards.setdefault(episode["task"], []).append(sum(episode["reward"].values()))
    return rewards


def prompt(episode):
    return "".join(segment["text"] for segment in episode["segments"] if segment["source"] == "prompt")


def collect(run, out):
    """What the study needs of one corpus and seed."""
    evaluation = run / "eval" / "episodes"
    # Baselines are trained for some seeds only.
    paths = {name: evaluation / f"{name}.jsonl" for name in POLICIES}
    policies = {name: by_task(path) for name, path in paths.items() if path.exists()}
    [shown] = (run / "composed" / "episodes").rglob("*.jsonl")
    demonstrated = by_task(shown)
    # The rung of the ladder that is best on training tasks, on held-out tasks.
    ladder = run.parent / "ladder" / "evaluation.json"
    rungs = {row["agent"]: row["reward"] for row in json.loads(ladder.read_text())["rows"]}
    rungs.pop("scripted/oracle", None)
    fixed = max(rungs, key=rungs.get)
    ladder = by_task(evaluation / f"{fixed}.jsonl")
    seen = {prompt(it) for it in episodes(run / "sft" / "demonstrations.jsonl")}
    prompts = {it["task"]: prompt(it) for it in episodes(evaluation / "sft.jsonl")}
    learnt = json.loads((run / "learnt.json").read_text())["evaluation"]["learnt"]
    result = {
        "corpus": run.parent.name.removeprefix("corpus-"),
        "seed": run.name.removeprefix("seed-"),
        "fixed": fixed,
        "tasks": {
            task: {
                "new_prompt": prompts[task] not in seen,
                "demonstrations": demonstrated[task],
                "fixed": ladder[task],
                **{name: rewards[task] for name, rewards in policies.items()},
            }
            for task in sorted(prompts)
        },
        "new_combinations": {
            row["policy"]: [row["new_combination"]["count"], row["new_combination"]["total"]]
            for row in learnt["novelty"]
        },
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n")


class Grid:
    """A number of every task and seed, corpus by corpus: its mean, and draws of that mean."""

    def __init__(self, results, value, agent):
        """Of the results that have `agent`."""
        self.corpora = {}
        for result in results:
            tasks = [task for task in result["tasks"].values() if agent in task]
            values = [it for it in map(value, tasks) if it is not None]
            if values:
                self.corpora.setdefault(result["corpus"], []).append(values)

    def mean(self, corpora):
        return statistics.fmean(value for seeds in corpora for values in seeds for value in values)

    def interval(self):
        rng = random.Random(0)
        known = [self.corpora[name] for name in sorted(self.corpora)]
        draws = []
        for _ in range(DRAWS):
            corpora = []
            for seeds in rng.choices(known, k=len(known)):
                # The same tasks for all seeds of a corpus: they have them in common.
                tasks = rng.choices(range(len(seeds[0])), k=len(seeds[0]))
                corpora.append([[values[it] for it in tasks] for values in rng.choices(seeds, k=len(seeds))])
            draws.append(self.mean(corpora))
        draws.sort()
        return self.mean(known), draws[int(0.025 * DRAWS)], draws[int(0.975 * DRAWS)]


def shown(interval):
    mean, low, high = interval
    return f"{mean:+.3f} [{low:+.3f}, {high:+.3f}]"


def share(results, policy):
    """The share of new combinations, with draws of corpora and seeds."""
    rng = random.Random(0)
    corpora = {}
    for result in results:
        corpora.setdefault(result["corpus"], []).append(result["new_combinations"][policy])

    def value(groups):
        counts = [count for group in groups for count in group]
        return sum(new for new, _ in counts) / max(1, sum(all_ for _, all_ in counts))

    known = [corpora[name] for name in sorted(corpora)]
    draws = sorted(
        value([rng.choices(seeds, k=len(seeds)) for seeds in rng.choices(known, k=len(known))])
        for _ in range(DRAWS)
    )
    return value(known), draws[int(0.025 * DRAWS)], draws[int(0.975 * DRAWS)]


def reward(name):
    """The mean reward of a task's episodes of that agent."""
    return lambda task: statistics.fmean(task[name])


def advantage(name, over=statistics.fmean):
    """GRPO's mean reward on a task minus that agent's, or minus another number of its episodes."""
    return lambda task: statistics.fmean(task["grpo"]) - over(task[name])


def on_new(value):
    """That number on tasks whose prompt no demonstration has, nothing on others."""
    return lambda task: value(task) if task["new_prompt"] else None


def summary(results):
    corpora = len({result["corpus"] for result in results})
    news = [task["new_prompt"] for result in results for task in result["tasks"].values()]
    print(
        f"{len(results)} runs over {corpora} corpora, {len(news)} tasks in all, {sum(news)} of new prompts\n"
    )
    first, all_, typical = (
        Grid(results, on_new(advantage("demonstrations", over)), "grpo").interval()
        for over in (lambda them: max(them[:12]), max, statistics.fmean)
    )
    print(f"(a) GRPO minus the best of 12 demonstrations: {shown(first)}")
    print(f"    GRPO minus the best of 24: {shown(all_)}")
    print(f"    GRPO minus their mean: {shown(typical)}")
    for name, policy in [("(b) GRPO", "grpo"), ("    SFT", "sft")]:
        middle, low, high = share(results, policy)
        print(f"{name}'s share of new combinations: {middle:.1%} [{low:.1%}, {high:.1%}]")
    print("\n| agent | runs | held-out reward | GRPO minus it |\n| --- | --- | --- | --- |")
    for name in ["grpo", *(it for it in POLICIES if it != "grpo"), "fixed", "demonstrations"]:
        runs = sum(any(name in task for task in result["tasks"].values()) for result in results)
        if not runs:
            continue
        middle, low, high = Grid(results, reward(name), name).interval()
        gap = "–" if name == "grpo" else shown(Grid(results, advantage(name), name).interval())
        print(f"| {name} | {runs} | {middle:.3f} [{low:.3f}, {high:.3f}] | {gap} |")


def main():
    match sys.argv[1:]:
        case ["collect", run, out]:
            collect(pathlib.Path(run), pathlib.Path(out))
        case ["summary", *paths] if paths:
            summary([json.loads(pathlib.Path(path).read_text()) for path in paths])
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
