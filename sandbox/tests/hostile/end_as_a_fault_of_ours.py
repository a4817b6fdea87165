"""Writes over all memory that it shares with anybody, so that its failure looks like ours."""
# must: raised, exited with code 9, was killed by signal 11
import ctypes
import gc
import mmap
import os

for thing in gc.get_objects():
    if isinstance(thing, mmap.mmap):
        try:
            thing[0:2] = b"\x02\x00"
        except ValueError:
            pass
for line in open("/proc/self/maps"):
    if "rw-s" in line:
        ctypes.memset(int(line.split("-")[0], 16), 2, 4096)
os._exit(9)
