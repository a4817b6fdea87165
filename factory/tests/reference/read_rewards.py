"""What the verifiers of exported Harbor tasks make of submissions.

In:  `<task folder> <submission.csv>` per line on stdin
Out: the rewards, a JSON object a line each
"""
import importlib.util
import json
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")
sys.dont_write_bytecode = True


def rewards(task, submission):
    path = pathlib.Path(task) / "tests" / "reward.py"
    spec = importlib.util.spec_from_file_location("reward", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.rewards(pathlib.Path(submission))


for line in sys.stdin:
    print(json.dumps(rewards(*line.split())), flush=True)
