"""Leaves a dead sibling, for which a namespace waits as long as nobody waits for it."""
# at most: 8s
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()


import platform

if platform.machine() == "x86_64":
    for _ in range(5):
        answer = call(56, 0x8000 | 17, 0, 0, 0, 0)
        if answer == 0:
            os._exit(0)
        assert answer == -errno.EPERM, answer
