"""Keeps its scores in memory and returns parts of them as transforms."""
# base: table
# must: raised
KEPT = {}


def score(columns):
    KEPT["parts"] = parts(columns)
    return KEPT["parts"].sum(axis=1)


def transforms(columns, items):
    return KEPT["parts"]
