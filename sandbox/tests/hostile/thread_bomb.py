"""Starts threads until there are no more, which must not cost other runs theirs."""
# policy: {"processes": 20}
import threading

stop = threading.Event()
made = 0
try:
    while made < 500:
        threading.Thread(target=stop.wait).start()
        made += 1
except RuntimeError:
    pass
stop.set()
# Without a box the user's other processes count as well.
assert 10 <= made < 20 or "@TIER@" == "t3" and made < 500, made
