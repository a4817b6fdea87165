"""Fills memory that belongs to no process alone."""
# policy: {"memory": "300MiB"}
import mmap

pages = mmap.mmap(-1, 100 << 20)
for place in range(0, len(pages), mmap.PAGESIZE):
    pages[place] = 1
# --- next run
# policy: {"memory": "300MiB"}
# must: ran out of memory
# at most: 10s
import mmap
import time

pages = mmap.mmap(-1, 400 << 20)
for place in range(0, len(pages), mmap.PAGESIZE):
    pages[place] = 1
time.sleep(20)
