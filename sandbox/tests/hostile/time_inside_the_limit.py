"""Sleeps for less than its time."""
# policy: {"time_limit": "20s"}
import time

time.sleep(0.5)
