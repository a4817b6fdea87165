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
# Without a box the user's other processes count as well.
assert made < 20 or "@TIER@" == "t3" and made < 500, made
