"""Lends its memory to a child that does not give it back."""
# policy: {"time_limit": "1s"}
# must: timed out
import ctypes

libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()


import platform
import time

if platform.machine() != "x86_64":
    time.sleep(60)
# The parent waits in the kernel until the child starts a program or ends.
if call(58) == 0:
    while True:
        time.sleep(1)
