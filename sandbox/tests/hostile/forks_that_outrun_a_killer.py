"""Keeps moving: every process forks the next one and ends, so that there is nobody to kill."""
# policy: {"processes": 20, "time_limit": "1s"}
# must: timed out
# must in t3: timed out, raised BlockingIOError
import os
import time

if os.fork() == 0:
    os.setsid()
    while True:
        try:
            if os.fork():
                os._exit(0)
        except OSError:
            pass
time.sleep(60)
