"""Fills the work dir with files that are each small enough."""
# base: table
# must: disk_limit
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    for number in range(1000):
        os.write(os.open(f"part{number}", os.O_WRONLY | os.O_CREAT), bytes(4 << 20))
