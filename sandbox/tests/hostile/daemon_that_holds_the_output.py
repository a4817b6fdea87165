"""Leaves a process that keeps the pipes open, so that who waits for their end waits for it."""
# at most: 8s
import os
import time

if os.fork() == 0:
    os.setsid()
    time.sleep(60)
print("done")
