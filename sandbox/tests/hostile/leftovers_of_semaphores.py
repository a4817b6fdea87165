"""Leaves a named semaphore behind, which the kernel keeps."""
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.sem_open.restype = ctypes.c_void_p
# 0o100 is O_CREAT.
libc.sem_open(b"/left", 0o100, 0o600, 1)
open("tried", "w").write(" ".join(os.listdir("/dev/shm")))
# --- next run
import os

assert open("tried").read() == "sem.left" and os.listdir("/dev/shm") == []
