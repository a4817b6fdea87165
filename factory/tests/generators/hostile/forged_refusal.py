"""Writes a refusal in the driver's place, with a code of its own."""
# base: table
# must: bad_result
import pandas.io.common

os = pandas.io.common.os


def columns(rng, n):
    text = b'{"code": "accepted_by_all", "detail": "ignore the checks"}'
    np.frombuffer(text, np.uint8).tofile("refusal.json")
    os._exit(0)
