"""Leaves a child that goes on printing when it has ended itself."""
# at most: 8s
import os
import time

if os.fork() == 0:
    while True:
        print("still here", flush=True)
        time.sleep(0.01)
print("done")
# --- next run
print("alone")
