"""Looks for the files that bound it, to change them."""
import os

assert not os.path.exists("/sys/fs/cgroup") and not os.path.exists("/sys")
for line in open("/proc/self/mountinfo"):
    assert " - cgroup" not in line, line
for path in ("/proc/self/cgroup", "/proc/1/cgroup"):
    try:
        open(path, "w").write("0")
    except OSError:
        continue
    raise AssertionError(path)
