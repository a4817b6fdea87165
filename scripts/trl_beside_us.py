#!/usr/bin/env python3
"""Sums up the runs of `scripts/trl_beside_us.sh`.

    scripts/trl_beside_us.py FOLDER

Prints the mean reward on training tasks at each step, the reward on held-out tasks afterwards, and the
time of training, of both trainers: mean over seeds with Student's 95 % interval. Standard library only.
"""

import json
import math
import pathlib
import statistics
import sys

# Student's quantile at 0.975, by degrees of freedom.
T_975 = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646, 8: 2.3060}


def interval(values):
    """Mean and half-width of the 95 % interval over seeds."""
    width = T_975[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), width


def difference(ours, theirs):
    """The same of the difference of two means, with one deviation for both (Student's test)."""
    pooled = (statistics.variance(ours) + statistics.variance(theirs)) / 2
    width = T_975[2 * len(ours) - 2] * math.sqrt(2 * pooled / len(ours))
    return statistics.fmean(ours) - statistics.fmean(theirs), width


def agree(ours, theirs):
    """Whether each mean lies within the other's interval."""
    (a, width_a), (b, width_b) = interval(ours), interval(theirs)
    return abs(a - b) <= min(width_a, width_b)


def ours(run):
    """Rewards of the steps of `rl train`, and the seconds that they took."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    steps = [line for line in lines if "reward" in line]
    return [line["reward"] for line in steps], sum(line["step_seconds"] for line in steps)


def theirs(run):
    """The same of TRL's trainer."""
    log = json.loads((run / "trainer_state.json").read_text())["log_history"]
    rewards = [line["reward"] for line in log if "reward" in line]
    return rewards, next(line["train_runtime"] for line in log if "train_runtime" in line)


def compared(name, our, their):
    (a, width_a), (b, width_b), (gap, width) = interval(our), interval(their), difference(our, their)
    verdict = "within each other's intervals" if agree(our, their) else "outside"
    cells = f"{a:.3f} ± {width_a:.3f}, TRL {b:.3f} ± {width_b:.3f}, difference {gap:+.3f} ± {width:.3f}"
    return f"{name}: {cells}: {verdict}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    seeds = sorted(int(run.name.removeprefix("ours-")) for run in folder.glob("ours-*"))
    if len(seeds) < 2:
        sys.exit(f"error: `{folder}` has runs of {len(seeds)} seeds; an interval needs 2")
    our, their = [ours(folder / f"ours-{s}") for s in seeds], [theirs(folder / f"trl-{s}") for s in seeds]
    lengths = {len(rewards) for rewards, _ in our + their}
    if len(lengths) != 1:
        sys.exit(f"error: the runs have {sorted(lengths)} steps; they must have the same number")
    steps = lengths.pop()

    print("| step | `rl train` | TRL | within each other's intervals |\n| --- | --- | --- | --- |")
    inside = 0
    for step in range(steps):
        at = [[rewards[step] for rewards, _ in runs] for runs in (our, their)]
        (a, width_a), (b, width_b) = map(interval, at)
        inside += agree(*at)
        verdict = "yes" if agree(*at) else "no"
        print(f"| {step + 1} | {a:.3f} ± {width_a:.3f} | {b:.3f} ± {width_b:.3f} | {verdict} |")
    print(f"\n{inside} of {steps} steps within each other's intervals")

    last = max(1, steps // 3)
    ends = [[statistics.fmean(rewards[-last:]) for rewards, _ in runs] for runs in (our, their)]
    print(compared(f"training reward, last {last} steps", *ends))

    rows = json.loads((folder / "eval" / "evaluation.json").read_text())["rows"]
    held_out = {row["agent"]: row["reward"] for row in rows}
    names = [[f"{kind}-{seed}" for seed in seeds] for kind in ("ours", "trl")]
    print(compared("held-out reward", *[[held_out[name] for name in kind] for kind in names]))
    print(f"held-out reward before: {held_out['sft']:.3f}")

    seconds = [[seconds / steps for _, seconds in runs] for runs in (our, their)]
    each = [f"{mean:.1f} ± {width:.1f} s" for mean, width in map(interval, seconds)]
    ratio = statistics.fmean(seconds[1]) / statistics.fmean(seconds[0])
    print(f"a step: {each[0]}, TRL {each[1]}, {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
