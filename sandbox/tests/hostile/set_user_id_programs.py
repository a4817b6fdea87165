"""Makes a program that would run with its owner's rights, and looks for those that do."""
import os
import shutil
import stat
import subprocess

boxed = "@TIER@" != "t3"
shutil.copyfile("/usr/bin/id", "mine")
try:
    os.chmod("mine", 0o6755)
except PermissionError:
    assert not boxed
else:
    shown = subprocess.run(["./mine", "-u"], capture_output=True, text=True)
    assert shown.returncode != 0 or shown.stdout.strip() == "1000", shown
assert "NoNewPrivs:\t1" in open("/proc/self/status").read()
for folder in ("/usr/bin", "/usr/lib", "/usr/libexec"):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode) and mode & stat.S_ISUID:
            flags = os.statvfs(path).f_flag
            # 2 is ST_NOSUID.
            assert not boxed or flags & 2, path
