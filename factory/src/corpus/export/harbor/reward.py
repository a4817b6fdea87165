#!/usr/bin/env python3
# {canary}
"""Turns what the task's own evaluator says of a submission into a reward.

    python reward.py submission.csv reward.json

Writes a JSON object of numbers: `reward` in [0, 0.9], the milestone reward without its part for the
format of turns; `valid` and the milestones, 1 if reached, else 0; and `score`, the task's metric, left
out for a submission that is not valid. If the evaluator fails, nothing is written.
"""

import contextlib
import io
import json
import pathlib
import runpy
import sys

EVALUATOR = pathlib.Path(__file__).resolve().parent / "task/source/evaluator.py"
VALID = 0.2
MILESTONES = {"median": 0.1, "bronze": 0.4, "silver": 0.1, "gold": 0.1}
MOST_BYTES = 64 << 20


def verdict(submission):
    """What the evaluator prints; a score of None for what is no file, or larger than is read."""
    # A link could lead to the answers.
    if submission.is_symlink() or not submission.is_file() or submission.stat().st_size > MOST_BYTES:
        return {"score": None}
    sys.argv, said = ["evaluator.py", str(submission)], io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(str(EVALUATOR), run_name="__main__")
    except SystemExit:
        pass  # How it tells valid submissions from others.
    return json.loads(said.getvalue())


def rewards(submission):
    result = verdict(submission)
    score = result["score"]
    if score is None:
        return {"reward": 0.0, "valid": 0, **dict.fromkeys(MILESTONES, 0)}
    reached, worth = {}, 0.0
    for name, weight in MILESTONES.items():
        threshold = result[f"{name}_threshold"]
        reached[name] = int(score <= threshold if result["is_lower_better"] else score >= threshold)
        worth += weight * reached[name]
    return {"reward": VALID + worth, "valid": 1, **reached, "score": score}


if __name__ == "__main__":
    given, wanted = map(pathlib.Path, sys.argv[1:])
    wanted.write_text(json.dumps(rewards(given)) + "\n")
