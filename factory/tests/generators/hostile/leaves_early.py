"""Ends its process with a code before it returns anything."""
# base: table
# must: crashed
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    os._exit(3)
