"""Reads an export as MLE-bench's registry does, and grades submissions to it.

In:  the export's folder as the argument; `<task> <submission.csv>` per line on stdin
Out: score, milestones and direction as MLE-bench derives them, a JSON object a line each
"""
import importlib
import json
import pathlib
import sys
import types
import warnings

import pandas as pd
import yaml

warnings.simplefilter("ignore")
out = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(out))
sys.dont_write_bytecode = True


class InvalidSubmissionError(Exception):
    """Stands in for the error of that name in mlebench.grade_helpers."""


helpers = types.ModuleType("mlebench.grade_helpers")
helpers.InvalidSubmissionError = InvalidSubmissionError
sys.modules["mlebench.grade_helpers"] = helpers


def function(name):
    module, name = name.split(":")
    return getattr(importlib.import_module(module), name)


def report(task, path):
    folder = out / "mlebench" / "competitions" / task
    for file in folder.glob("*.py"):
        compile(file.read_text(), str(file), "exec")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert config["id"] == task and config["name"] and config["competition_type"] == "simple"
    assert set(config["grader"]) == {"name", "grade_fn"}
    assert (out / config["description"]).read_text()
    assert (out / "data" / config["dataset"]["sample_submission"]).is_file()
    assert callable(function(config["preparer"]))
    board = pd.read_csv(folder / "leaderboard.csv")["score"]
    n, row = len(board), lambda position: float(board.iloc[position - 1])
    lower = bool(board.iloc[0] < board.iloc[-1])
    answers = out / "data" / config["dataset"]["answers"]
    tables = (pd.read_csv(file, float_precision="round_trip") for file in (path, answers))
    try:
        score = function(config["grader"]["grade_fn"])(*tables)
    except InvalidSubmissionError:
        score = None
    gold = row(max(1, int(n * 0.1)))
    rounded = None if score is None else round(score, 5)
    return {
        "score": score,
        "gold": gold,
        "silver": row(max(1, int(n * 0.2))),
        "bronze": row(max(1, int(n * 0.4))),
        "median": float(board.median()),
        "is_lower_better": lower,
        "gold_medal": rounded is not None and (rounded <= gold if lower else rounded >= gold),
    }


for line in sys.stdin:
    print(json.dumps(report(*line.split())), flush=True)
