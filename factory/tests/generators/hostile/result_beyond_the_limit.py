"""Leaves a result of 60 MiB."""
# base: table
# must: too_large
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    np.zeros(60 << 20, np.uint8).tofile("result.bin")
    os._exit(0)
