"""Makes a program that would run with its owner's rights, and looks for those that do."""
import os
import shutil
import stat
import subprocess

shutil.copy("/usr/bin/id", "mine")
os.chmod("mine", 0o6755)
shown = subprocess.run(["./mine", "-u"], capture_output=True, text=True)
assert shown.returncode != 0 or shown.stdout.strip() == "1000", shown
for folder in ("/usr/bin", "/usr/lib", "/usr/libexec"):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode) and mode & stat.S_ISUID:
            flags = os.statvfs(path).f_flag
            # 2 is ST_NOSUID.
            assert flags & 2, path
