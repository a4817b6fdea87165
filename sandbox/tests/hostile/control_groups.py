"""Looks for the files that bound it, to change them."""
import os

boxed = "@TIER@" != "t3"
if boxed:
    assert not os.path.exists("/sys/fs/cgroup") and not os.path.exists("/sys")
    for line in open("/proc/self/mountinfo"):
        assert " - cgroup" not in line, line
for path in (
    "/proc/self/cgroup", "/proc/1/cgroup", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/tasks",
    "/sys/fs/cgroup/pids/tasks",
):
    try:
        open(path, "w").write("0")
    except OSError:
        continue
    raise AssertionError(path)
