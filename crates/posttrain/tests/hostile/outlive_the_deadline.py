"""Ignores that it is asked to end, in children that are nobody's, with sessions and groups of their own."""

import os
import signal
import time

from common import ask, hint, model, submit

status, entry = submit(model("honest", 0.5))
assert (status, entry["score"]) == (200, 0.5), entry
for number in [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]:
    signal.signal(number, signal.SIG_IGN)
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.execvp("sleep", ["sleep", hint("marker")])
        os._exit(0)
while ask("/v1/time")[1]["state"] != "over":
    time.sleep(0.05)
status, answer = submit(model("late", 1.0))
print("late:", status, flush=True)
while True:
    time.sleep(1)
