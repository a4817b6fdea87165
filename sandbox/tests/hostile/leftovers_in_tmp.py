"""Leaves files where every run may write."""
import os

boxed = "@TIER@" != "t3"
for folder in ("/tmp", "/dev/shm") if boxed else (os.environ["TMPDIR"],):
    os.makedirs(f"{folder}/left/over")
    open(f"{folder}/left/over/file", "w").write("x")
# --- next run without session
import os

boxed = "@TIER@" != "t3"
for folder in ("/tmp", "/dev/shm") if boxed else (os.environ["TMPDIR"],):
    assert os.listdir(folder) == [], folder
