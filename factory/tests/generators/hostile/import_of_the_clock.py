"""Imports the clock."""
# base: table
# must: bad_import
import time


def score(columns):
    return columns["load"] + time.time()
