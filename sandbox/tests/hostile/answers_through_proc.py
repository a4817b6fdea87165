"""Looks for another root, working directory or open file behind /proc."""
import os

# Without a box the host's paths are there to be named, and must not open.
boxed = "@TIER@" != "t3"
if boxed:
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    assert os.getpid() == 2 and set(processes) <= {"2"}, processes
for pid in ("self", "thread-self", "1", "2", str(os.getppid())):
    for link in ("root", "cwd"):
        for path in ("@CORPUS@/alpha/prepared/private/answer.csv", "tasks/beta", "workspaces/0"):
            try:
                open(f"/proc/{pid}/{link}/{path.lstrip('/')}").read()
            except OSError:
                continue
            raise AssertionError((pid, link, path))
for secret in ("root", "cwd", "fd", "environ", "mem", "maps", "exe", "ns/mnt"):
    for pid in ("1", "0", str(os.getppid()), "@SUPERVISOR@"):
        path = f"/proc/{pid}/{secret}"
        try:
            os.listdir(path) if secret in ("fd", "root", "cwd") else open(path, "rb").read(1)
        except OSError:
            continue
        raise AssertionError(path)
for path in ("/proc/self/map_files", "/proc/kcore", "/proc/sysrq-trigger"):
    try:
        if os.path.isdir(path):
            for name in os.listdir(path):
                os.stat(f"{path}/{name}")
        else:
            open(path, "r+b").close()
    except OSError:
        continue
    raise AssertionError(path)
