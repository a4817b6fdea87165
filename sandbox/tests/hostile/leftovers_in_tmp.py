"""Leaves files where every run may write."""
import os

for folder in ("/tmp", "/dev/shm"):
    os.makedirs(f"{folder}/left/over")
    open(f"{folder}/left/over/file", "w").write("x")
# --- next run
import os

assert os.listdir("/tmp") == [] and os.listdir("/dev/shm") == []
