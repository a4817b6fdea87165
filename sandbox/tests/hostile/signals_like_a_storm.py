"""Has a timer send it signals as fast as it can take them."""
# at most: 8s
import signal
import time

count = 0


def struck(*_):
    global count
    count += 1


signal.signal(signal.SIGALRM, struck)
signal.setitimer(signal.ITIMER_REAL, 2e-4, 2e-4)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
assert count > 0
if "@MODE@" == "script":
    raise SystemExit
signal.setitimer(signal.ITIMER_REAL, 0)
