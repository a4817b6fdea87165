"""Prints all that a process can learn of its host: variables, names, arguments of others."""

import os
from pathlib import Path

print(dict(os.environ))
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in ["environ", "cmdline", "comm", "cgroup"]:
        try:
            print(pid, name, Path(f"/proc/{pid}/{name}").read_bytes())
        except OSError as error:
            print(pid, name, error)
for path in ["/etc/hostname", "/etc/hosts", "/etc/passwd", "/proc/sys/kernel/hostname", "/root/.bashrc"]:
    try:
        print(path, Path(path).read_text())
    except OSError as error:
        print(path, error)
print(os.uname(), os.getuid(), os.getgroups(), os.listdir("/"))
