"""Digs folders inside folders, which are hard to clear away."""
# must: ran out of disk space
import os

for _ in range(150):
    os.mkdir("deeper")
    os.chdir("deeper")
