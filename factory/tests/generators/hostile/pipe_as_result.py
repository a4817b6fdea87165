"""Leaves a named pipe in the place of its result, which reading would wait for."""
# base: table
# must: bad_result
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    os.mkfifo("result.bin")
    os._exit(0)
