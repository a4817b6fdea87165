"""Traces its own child, which could then make calls that it may not."""
import ctypes
import errno
import os
import time

libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    # PTRACE_TRACEME
    os._exit(0 if libc.ptrace(0, 0, 0, 0) == -1 else 1)
assert os.waitpid(child, 0)[1] == 0
child = os.fork()
if child == 0:
    time.sleep(30)
buffer = ctypes.create_string_buffer(8)
assert libc.process_vm_readv(child, buffer, 1, buffer, 1, 0) == -1
assert ctypes.get_errno() == errno.EPERM
os.kill(child, 9)
