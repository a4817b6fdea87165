"""Has children fill memory that they map to share, and take it out of their own tables."""
# policy: {"memory": "300MiB", "time_limit": "20s"}
# must: ran out of memory
import mmap
import os
import time

for _ in range(6):
    if os.fork() == 0:
        pages, size = mmap.mmap(-1, 200 << 20), 4 << 20
        for start in range(0, 200 << 20, size):
            for place in range(start, start + size, 4096):
                pages[place] = 1
            # The pages stay, but no process seems to have them.
            pages.madvise(mmap.MADV_DONTNEED, start, size)
        time.sleep(30)
        os._exit(0)
time.sleep(30)
