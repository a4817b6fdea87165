"""Sleeps past its time."""
# policy: {"time_limit": "1s"}
# must: timed out
# at most: 6s
import time

time.sleep(60)
