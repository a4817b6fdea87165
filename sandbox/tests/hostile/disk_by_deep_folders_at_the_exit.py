"""Digs deep and is gone before anybody has looked."""
# must: finished, ran out of disk space
import os
import tempfile

os.chdir(tempfile.gettempdir())
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
os._exit(0)
