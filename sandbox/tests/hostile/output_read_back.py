"""Opens the pipe of its output for reading, and takes what others were to read."""
# policy: {"time_limit": "5s", "output_limit": "1MiB"}
# must: finished, printed too much
import os

try:
    back = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
except OSError:
    back = None
for _ in range(500):
    os.write(1, b"x" * 1000)
    if back is not None:
        try:
            os.read(back, 4096)
        except BlockingIOError:
            pass
