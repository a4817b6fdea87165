"""Moves the clock, which would move it for the whole machine."""
import time

for attempt in (lambda: time.clock_settime(time.CLOCK_REALTIME, 0),):
    try:
        attempt()
    except OSError:
        continue
    raise AssertionError("the clock was set")
