"""Has children map memory to share, each as much as one may have, and share it with nobody."""
# policy: {"memory": "300MiB", "time_limit": "20s"}
# must: ran out of memory
import mmap
import os
import time

for _ in range(6):
    if os.fork() == 0:
        size = 200 << 20
        pages = mmap.mmap(-1, size)
        for place in range(0, size, 4096):
            pages[place] = 1
        time.sleep(30)
        os._exit(0)
time.sleep(30)
