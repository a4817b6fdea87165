"""Shares the load among children, none of which takes too much."""
# policy: {"memory": "300MiB"}
# must: ran out of memory
import os
import time

for _ in range(6):
    if os.fork() == 0:
        held = bytearray(100 << 20)
        time.sleep(20)
        os._exit(0)
time.sleep(20)
