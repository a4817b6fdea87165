"""Leaves a pickle in the place of its result, which runs code where it is read."""
# base: table
# must: bad_result
import pandas.io.common

os = pandas.io.common.os
import pandas as pd


class Bomb:
    def __reduce__(self):
        return (os.system, ("touch /tmp/pickled",))


def columns(rng, n):
    pd.to_pickle(Bomb(), "result.bin", compression=None)
    os._exit(0)
