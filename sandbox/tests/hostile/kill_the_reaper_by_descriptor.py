"""Kills the first process of its namespace by a descriptor, which no number can bend."""
import os
import signal

for pid in (1, os.getppid() or 1):
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        continue
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGCONT):
        try:
            signal.pidfd_send_signal(descriptor, number)
        except OSError:
            pass
print("alive")
