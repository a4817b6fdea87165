"""Waits inside a C library, where Python handles no signal."""
# policy: {"time_limit": "1s"}
# must: timed out
import ctypes
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
ctypes.CDLL(None).pause()
