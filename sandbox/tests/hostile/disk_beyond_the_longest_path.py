"""Fills the disk so deep that no path is long enough to name the files."""
# must: ran out of disk space
import os
import time

for _ in range(30):
    os.mkdir("x" * 250)
    os.chdir("x" * 250)
for number in range(40):
    open(str(number), "wb").write(bytes(1 << 20))
    time.sleep(0.02)
time.sleep(2)
