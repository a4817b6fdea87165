"""Ends, but not quite: an exit handler goes on."""
# policy: {"time_limit": "1s"}
# must: timed out
# must in session: finished
import atexit
import time

atexit.register(time.sleep, 60)
