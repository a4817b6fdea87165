"""Digs deeper below the folder for temporary files than a program can climb."""
# must: finished
# must in t3: ran out of disk space
import os
import tempfile
import time

os.chdir(tempfile.gettempdir())
for _ in range(3000):
    os.mkdir("d")
    os.chdir("d")
if "@TIER@" == "t3":
    time.sleep(3)
