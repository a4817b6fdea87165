"""Signals everything in reach: the reaper, the parent, all numbers."""
import os
import signal

boxed = "@TIER@" != "t3"
assert not boxed or os.getppid() == 0, "the parent is outside"
for pid in [1, int("@SUPERVISOR@")] + list(range(3, 400)) + ([os.getppid()] if not boxed else []):
    if pid == os.getpid():
        continue
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass
try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass
# The reaper is still there, for without it the kernel would have ended this process too, and
# no process could be made any more.
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
