"""Forks until the kernel says no, and counts how far it got."""
# policy: {"processes": 20}
import os
import time

made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
# Without a box the user's other processes count as well.
assert 15 <= made < 20 or "@TIER@" == "t3" and made < 500, made
