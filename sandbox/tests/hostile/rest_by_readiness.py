"""Asks for the signal that wakes whoever was stopped when its output has been read."""
import fcntl
import os
import signal

F_SETOWN, F_SETSIG, O_ASYNC = 8, 10, 0x2000
reader, writer = os.pipe()
for descriptor in (0, 1, 2, reader, writer):
    try:
        fcntl.fcntl(descriptor, F_SETSIG, signal.SIGCONT)
    except PermissionError:
        continue
    raise AssertionError(descriptor)
