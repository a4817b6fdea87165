"""Forks in every process, whatever the kernel says."""
# policy: {"processes": 30, "time_limit": "2s"}
# must: timed out
import os

while True:
    try:
        os.fork()
    except OSError:
        pass
