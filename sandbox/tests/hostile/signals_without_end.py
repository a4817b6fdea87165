"""Has signals wait for it until there is no room for others'."""
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


def call(*arguments):
    answer = libc.syscall(*[ctypes.c_long(argument) for argument in arguments])
    return answer if answer >= 0 else -ctypes.get_errno()


import platform
import signal
import struct

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
if platform.machine() == "x86_64":
    # Signal, error, code (SI_QUEUE), number and user of the sender.
    about = ctypes.create_string_buffer(struct.pack("iiiiii", 40, 0, -1, 0, os.getpid(), os.getuid()), 128)
    count = 0
    while call(129, os.getpid(), 40, ctypes.addressof(about)) == 0:
        count += 1
        assert count <= 300, "without end"
    assert count > 100 or "@TIER@" == "t3", count
sent = 0
for _ in range(5000):
    try:
        os.kill(os.getpid(), 41)
        sent += 1
    except OSError:
        break
assert sent <= 5000
