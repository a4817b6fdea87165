"""Makes children whose end sends their parent any signal, such as one that wakes it."""
import ctypes
import errno
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()


import platform

if platform.machine() == "x86_64":
    for number in range(1, 65):
        if number == 17:
            continue
        answer = call(56, number, 0, 0, 0, 0)
        if answer == 0:
            os._exit(0)
        assert answer == -errno.EPERM, (number, answer)
