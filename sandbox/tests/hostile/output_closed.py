"""Closes its output, which is no end."""
import os

for fd in (0, 1, 2):
    os.close(fd)
assert os.open("/dev/null", os.O_RDONLY) == 0
open("went on", "w").close()
# --- next run
import os

assert os.path.exists("went on")
