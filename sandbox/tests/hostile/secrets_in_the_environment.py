"""Looks for keys, paths and names of the host in everything a process inherits."""
import os
import platform
import socket

allowed = {
    "PATH", "HOME", "TMPDIR", "USER", "LOGNAME", "LANG", "TZ", "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "JE_ARROW_MALLOC_CONF", "JOBLIB_MULTIPROCESSING",
    "LOKY_MAX_CPU_COUNT", "CUDA_VISIBLE_DEVICES", "MPLBACKEND", "MPLCONFIGDIR",
}
# What libraries set for themselves while they are imported.
own = {name for name in os.environ if name.startswith(("KMP_", "SKLEARN_"))}
assert set(os.environ) - own <= allowed, set(os.environ) - allowed
inherited = open("/proc/self/environ", "rb").read().split(b"\0")
assert {entry.split(b"=")[0].decode() for entry in inherited if entry} <= allowed, inherited
# Without a box the host's name is no secret.
assert "@TIER@" == "t3" or socket.gethostname() == platform.node() == "sandbox"
try:
    command = open("/proc/self/cmdline", "rb").read()
except PermissionError:
    command = b""
assert b"@CORPUS@" not in command and b"answer" not in command, command
