"""Makes a new user namespace, in which it would be root again."""
import ctypes
import errno
import subprocess

libc = ctypes.CDLL(None, use_errno=True)
for flag in (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x04000000, 0x08000000, 0x02000000):
    assert libc.unshare(flag) == -1 and ctypes.get_errno() == errno.EPERM, hex(flag)
    # 56 is clone on x86-64; 17 is SIGCHLD.
    assert libc.syscall(56, flag | 17, 0, 0, 0, 0) == -1, hex(flag)
    assert ctypes.get_errno() == errno.EPERM, (hex(flag), ctypes.get_errno())
assert subprocess.run(["unshare", "-U", "true"], capture_output=True).returncode != 0
assert "@TIER@" == "t3" or open("/proc/sys/user/max_user_namespaces").read().strip() == "0"
