"""Grades a submission with the task's own evaluator, which lies beside this file."""

import importlib.util
import pathlib

import pandas as pd
from mlebench.grade_helpers import InvalidSubmissionError

SPEC = importlib.util.spec_from_file_location(
    "evaluator", pathlib.Path(__file__).with_name("evaluator.py")
)
evaluator = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(evaluator)


def text(table, columns):
    """The table as the evaluator reads it: cells of text, empty where one is missing."""
    if sorted(map(str, table.columns)) != sorted(columns):
        raise evaluator.Invalid(f"columns are {list(table.columns)}, expected {columns}")
    # A row with more cells than the header has turns the first ones into an index.
    if not isinstance(table.index, pd.RangeIndex):
        raise evaluator.Invalid("a row has more cells than the header")
    return table.astype(object).map(lambda cell: "" if pd.isna(cell) else str(cell).strip())


def grade(submission: pd.DataFrame, answers: pd.DataFrame) -> float:
    settings = evaluator.SETTINGS
    key, columns, truths = settings["id"], settings["columns"], settings["answer_columns"]
    truth = text(answers, [key, *truths]).set_index(key)
    try:
        if len(submission) != len(answers):
            raise evaluator.Invalid(f"there are {len(submission)} rows, expected {len(answers)}")
        found = text(submission, [key, *columns]).set_index(key)
        if found.index.has_duplicates or set(found.index) != set(truth.index):
            raise evaluator.Invalid("the ids are not exactly those of the test set, each once")
        return float(evaluator.score(truth[truths], found.loc[truth.index, columns]))
    except evaluator.Invalid as error:
        raise InvalidSubmissionError(str(error)) from error
