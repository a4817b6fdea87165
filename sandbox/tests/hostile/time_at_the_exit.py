"""Ends, but not quite: an exit handler goes on."""
# policy: {"time_limit": "1s"}
# must: timed out
import atexit
import time

atexit.register(time.sleep, 60)
