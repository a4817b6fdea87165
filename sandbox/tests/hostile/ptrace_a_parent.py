"""Attaches to other processes to make them do what it may not."""
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)
ATTACH, SEIZE = 16, 0x4206
child = os.fork()
if child == 0:
    import time

    time.sleep(30)
for pid in (1, child):
    for request in (ATTACH, SEIZE):
        assert libc.ptrace(request, pid, 0, 0) == -1 and ctypes.get_errno() == errno.EPERM
try:
    open("/proc/1/mem", "r+b")
except OSError:
    pass
else:
    raise AssertionError("the reaper's memory")
