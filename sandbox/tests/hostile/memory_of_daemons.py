"""Shares the load among processes that are no longer its children."""
# policy: {"memory": "300MiB"}
# must: ran out of memory
import os
import time

if os.fork():
    time.sleep(20)
    os._exit(0)
os.setsid()
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(100 << 20)
        time.sleep(20)
        os._exit(0)
os._exit(0)
