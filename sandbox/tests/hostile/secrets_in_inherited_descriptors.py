"""Looks for sockets, folders and files that were left open."""
import os
import stat

open_now = sorted(int(name) for name in os.listdir("/proc/self/fd"))
# A session has its way to the zygote, with nobody else at the other end.
own = 4 if "@MODE@" == "session" else 3
# The last is the listing itself.
assert open_now[:own] == list(range(own)) and len(open_now) == own + 1, open_now
kinds = [os.fstat(fd).st_mode for fd in (0, 1, 2)]
assert stat.S_ISCHR(kinds[0]) and stat.S_ISFIFO(kinds[1]) and stat.S_ISFIFO(kinds[2])
for fd in range(own, 1024):
    try:
        os.fstat(fd)
    except OSError:
        continue
    raise AssertionError(fd)
