"""Kills and traces everybody it can name: the server, the keeper of its box, other users' processes."""

import ctypes
import os
import signal

from common import ask, fails, hint, model, submit

libc = ctypes.CDLL(None, use_errno=True)
own = os.getpid()
for pid in [1, hint("server"), *range(2, 4096)]:
    if pid != own:
        for number in [signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP]:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                pass
        # PTRACE_ATTACH and PTRACE_SEIZE
        for request in [16, 0x4206]:
            assert libc.ptrace(request, pid, None, None) == -1
try:
    os.kill(-1, signal.SIGKILL)
except ProcessLookupError:
    pass
assert sorted(int(name) for name in os.listdir("/proc") if name.isdigit()) == sorted({1, own})
for name in ["mem", "environ", "root/etc/shadow", "cwd/x", "fd/0", "maps"]:
    try:
        with open(f"/proc/1/{name}", "rb") as file:
            assert not file.read(1), name
    except OSError:
        pass
fails(os.listdir, "/proc/1/fd")
assert libc.unshare(0x10000000) == -1 and libc.setns(0, 0) == -1
assert libc.mount(b"none", b"/workspace/code", b"tmpfs", 0, None) == -1
assert ask("/v1/health")[0] == 200
status, entry = submit(model("honest", 0.5))
assert (status, entry["score"]) == (200, 0.5), entry
