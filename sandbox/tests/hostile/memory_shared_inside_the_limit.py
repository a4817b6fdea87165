"""Has children share one piece of memory, of which there is enough."""
# policy: {"memory": "300MiB"}
import mmap
import os

size = 180 << 20
pages = mmap.mmap(-1, size)
for place in range(0, size, 4096):
    pages[place] = 1
for number in range(6):
    if os.fork() == 0:
        total = sum(pages[place] for place in range(0, size, 4096))
        pages[number * 4096 + 1] = 7
        os._exit(0 if total == size // 4096 else 1)
for _ in range(6):
    assert os.wait()[1] == 0
assert all(pages[number * 4096 + 1] == 7 for number in range(6))
