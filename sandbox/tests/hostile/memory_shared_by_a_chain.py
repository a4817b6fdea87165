"""Maps memory to share and hands it on to a child, which maps some more and hands on both."""
# policy: {"memory": "300MiB", "time_limit": "20s"}
# must: ran out of memory
import mmap
import os
import time

for _ in range(8):
    size = 60 << 20
    pages = mmap.mmap(-1, size)
    for place in range(0, size, 4096):
        pages[place] = 1
    if os.fork():
        # This piece stays with the parent; the child begins anew.
        time.sleep(30)
        os._exit(0)
    pages.close()
time.sleep(30)
