"""Makes timers until there are none left for others: the kernel counts them per user."""
import ctypes
import errno

libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()


import platform

if platform.machine() == "x86_64":
    timer = ctypes.c_int()
    for _ in range(1000):
        assert call(222, 0, 0, ctypes.addressof(timer)) == -errno.EPERM
