"""Leaves a named semaphore behind, which the kernel keeps."""
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.sem_open.restype = ctypes.c_void_p
# 0o100 is O_CREAT.
made = libc.sem_open(b"/left", 0o100, 0o600, 1)
assert ("@TIER@" == "t3") == (not made)
open("tried", "w").write(str(os.path.exists("/dev/shm/sem.left")))
# --- next run
import os

assert open("tried").read() == str("@TIER@" != "t3")
# A session keeps what is its own.
assert os.path.exists("/dev/shm/sem.left") == ("@MODE@" == "session")
# --- next episode
import os

assert not os.path.exists("/dev/shm/sem.left")
