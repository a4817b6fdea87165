"""Fetches a table from a server through a library."""
# base: table
# must: raised
import pandas as pd


def columns(rng, n):
    return dict(pd.read_csv("http://127.0.0.1:80/table.csv"))
