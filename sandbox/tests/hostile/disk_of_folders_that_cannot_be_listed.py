"""Fills the disk in a folder that its owner may write to and not list."""
# must: ran out of disk space
import os
import time

os.mkdir("shut", 0o300)
for number in range(40):
    open(f"shut/{number}", "wb").write(bytes(1 << 20))
    time.sleep(0.02)
time.sleep(2)
