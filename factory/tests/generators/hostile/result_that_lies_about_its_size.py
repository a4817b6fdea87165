"""Leaves a result whose header claims more rows than there are bytes."""
# base: table
# must: bad_result
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    header = b'[{"name":"columns/load","kind":"f64","shape":[9007199254740993,8],"offset":0}]'
    data = b"MLEROWS1" + len(header).to_bytes(8, "little") + header + bytes(64)
    np.frombuffer(data, np.uint8).tofile("result.bin")
    os._exit(0)
