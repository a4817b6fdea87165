"""Makes a process that is its sibling and not its child, which nobody knows or waits for."""
# at most: 8s
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()


import platform

CLONE, CLONE_PARENT, SIGCHLD = 56, 0x8000, 17
if platform.machine() == "x86_64":
    for flags in (CLONE_PARENT | SIGCHLD, CLONE_PARENT, CLONE_PARENT | 0x4000 | SIGCHLD):
        answer = call(CLONE, flags, 0, 0, 0, 0)
        if answer == 0:
            # It got through: the sibling stays, and computes when nobody looks.
            while True:
                open("alive", "a").write("x")
        assert answer == -errno.EPERM, answer
# --- next run
import os

assert not os.path.exists("alive"), os.stat("alive").st_size
