"""Leaves a link to a file of the host in the place of its result."""
# base: table
# must: bad_result
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    os.symlink("/etc/passwd", "result.bin")
    os._exit(0)
