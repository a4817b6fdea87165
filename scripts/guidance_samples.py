#!/usr/bin/env python3
"""Training samples of the guidance study, in the form of `agents guide export`.

    scripts/guidance_samples.py base DEMONSTRATIONS GUIDED OUT     what the base policy imitates
    scripts/guidance_samples.py good EPISODES OUT                  unguided episodes that reach bronze
    scripts/guidance_samples.py cut COUNT SAMPLES OUT              the first so many samples

`base`: weak scripts of the ladder as they are, and conversations in which advice after a weak script is
followed by another one. GUIDED is a file of guided episodes, for the system prompt of a guided run.
Nothing of it shows a search for products without advice. Standard library only.
"""

import itertools
import json
import pathlib
import sys

from learning_study import episodes as read

# What a person says for each script, four wordings each. `scripts/guidance_study.sh` has the same.
ADVICE = {
    "linear": [
        "Use a linear model.",
        "Few rows: fit a line.",
        "Try ridge or logistic regression.",
        "A simple linear fit is enough.",
    ],
    "forest": [
        "Use a random forest.",
        "Try trees, many of them.",
        "A forest needs no scaling.",
        "Fit an ensemble of trees.",
    ],
    "operators": [
        "Look at products and ratios of columns.",
        "Columns may act together.",
        "Search pairs of columns.",
        "Multiply columns and see which products matter.",
    ],
}
WEAK = ("constant", "linear", "forest")
BRONZE = ("bronze", "silver", "gold")


def write(folder, samples):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "samples.jsonl", "w") as out:
        out.writelines(json.dumps(sample) + "\n" for sample in samples)
    print(f"{len(samples)} samples in {folder}")


def sample(name, trajectory, context="keep"):
    """Failed turns are context; all others are trained on."""
    failed = (
        turn["tool"] == "malformed" or (turn["outcome"] or {"outcome": "finished"})["outcome"] != "finished"
        for turn in trajectory["turns"]
    )
    # A turn that was cut off has no record, and a sample has as many turns as records.
    trained = ["nothing" if is_failed else "whole" for is_failed in failed]
    segments, turns = [], 0
    for segment in trajectory["segments"]:
        turns += segment["source"] == "model"
        if turns > len(trained):
            break
        segments.append({"source": segment["source"], "text": segment["text"]})
    return {
        "version": 1,
        "conversation": name,
        "context": context,
        "trained": trained,
        "trajectory": trajectory | {"segments": segments},
    }


def followed(weak, strong, system, text):
    """The weak script, advice, and then the episode of the strong one."""
    segments, rest = weak["segments"], strong["segments"][2:]
    script, seen = segments[2:4]
    advice = f"(about your turn 1)\n{text}"
    piece = {"segment": 4, "id": "study-0", "by": "study", "about": 0, "text": text, "waited_seconds": 0.0}
    prompt = [{"source": "prompt", "text": system}, segments[1]]
    return strong | {
        "guided": True,
        "segments": [*prompt, script, seen, {"source": "guide", "text": advice}, *rest],
        "guidance": [piece],
        "turns": [weak["turns"][0], *strong["turns"]],
    }


def base(demonstrations, guided, out):
    system = read(pathlib.Path(guided))[0]["segments"][0]["text"]
    by_task = {}
    for episode in read(pathlib.Path(demonstrations)):
        level = episode["agent"].removeprefix("scripted/")
        by_task.setdefault(episode["task"], {}).setdefault(level, []).append(episode)
    samples, wording = [], itertools.count()
    for task, of_level in sorted(by_task.items()):
        for level, episodes in sorted(of_level.items()):
            for number, episode in enumerate(episodes):
                name = f"{task[:32]}-{level}-{number}"
                if level in WEAK:
                    samples.append(sample(name, episode))
                before = [weak for weak in WEAK if weak != level and weak in of_level]
                for weak in before if level in ADVICE else []:
                    first = of_level[weak][number % len(of_level[weak])]
                    text = ADVICE[level][next(wording) % len(ADVICE[level])]
                    samples.append(sample(f"{name}-after-{weak}", followed(first, episode, system, text)))
    write(out, samples)


def good(episodes, out):
    chosen = []
    for episode in read(pathlib.Path(episodes)):
        grade = episode["outcome"]["mle"]["grade"]
        if grade and grade.get("tier") in BRONZE:
            chosen.append(episode)
    chosen.sort(key=lambda episode: (episode["task"], episode["attempt"]))
    write(out, [sample(f"{it['task'][:32]}-{it['attempt']}", it) for it in chosen])


def cut(count, samples, out):
    write(out, read(pathlib.Path(samples) / "samples.jsonl")[: int(count)])


def main():
    commands = {"base": (base, 3), "good": (good, 2), "cut": (cut, 3)}
    command, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if command is None or len(sys.argv) != count + 2:
        sys.exit(__doc__)
    command(*sys.argv[2:])


if __name__ == "__main__":
    main()
