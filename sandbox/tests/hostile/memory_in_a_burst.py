"""Has thirty children take their share at the same moment, faster than anyone adds up."""
# policy: {"memory": "128MiB", "scratch": "4MiB"}
# must: ran out of memory
import os
import time

wait, go = os.pipe()
for _ in range(30):
    if os.fork() == 0:
        os.close(go)
        os.read(wait, 1)
        held = bytearray(60 << 20)
        time.sleep(20)
        os._exit(0)
os.close(go)
time.sleep(20)
