"""Runs the evaluators of the task folders named on stdin in one process, to import once.

In:  a task folder per line, with `source/evaluator.py` and a `submission.csv` in it
Out: what the evaluator prints, a line each
"""
import pathlib
import runpy
import sys
import warnings

warnings.simplefilter("ignore")

for line in sys.stdin:
    task = pathlib.Path(line.strip())
    sys.argv = ["evaluator.py", str(task / "submission.csv")]
    try:
        runpy.run_path(str(task / "source/evaluator.py"), run_name="__main__")
    except SystemExit:
        pass
