"""Computes past its time with every signal ignored."""
# policy: {"time_limit": "1s"}
# must: timed out
# at most: 6s
import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    pass
