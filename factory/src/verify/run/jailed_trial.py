"""Lays out a task folder around an evaluator and runs it on one submission."""
import os
import runpy
import sys

for name, folder in (
    ("evaluator.py", "task/source"),
    ("answer.csv", "task/prepared/private"),
    ("threshold.json", "task/prepared/private"),
):
    os.makedirs(folder, exist_ok=True)
    os.rename(name, f"{folder}/{name}")

sys.argv = ["evaluator.py", "submission.csv"]
runpy.run_path("task/source/evaluator.py", run_name="__main__")
