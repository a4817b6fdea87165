"""Enters the namespaces of the reaper and of its parent."""
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for pid in ("self", "1", str(os.getppid())):
    for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
        try:
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError:
            continue
        assert libc.setns(fd, 0) == -1, (pid, kind)
