"""Has a timer send the signal that wakes whoever was stopped."""
import ctypes
import errno

libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()


import platform
import struct

if platform.machine() == "x86_64":
    # SIGEV_SIGNAL with SIGCONT, for each clock.
    for clock in range(12):
        event = ctypes.create_string_buffer(struct.pack("qii", 0, 18, 0), 64)
        timer = ctypes.c_int()
        answer = call(222, clock, ctypes.addressof(event), ctypes.addressof(timer))
        assert answer == -errno.EPERM, (clock, answer)
