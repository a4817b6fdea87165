"""Fills the process table with processes that have ended."""
# policy: {"processes": 20}
import os

made = 0
try:
    while made < 500:
        if os.fork() == 0:
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
assert made <= 20, made
