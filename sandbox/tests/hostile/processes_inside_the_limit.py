"""Has as many processes as it may."""
# policy: {"processes": 20}
# must in t3: finished, raised BlockingIOError
import os
import time

children = []
for _ in range(15):
    child = os.fork()
    if child == 0:
        time.sleep(0.2)
        os._exit(0)
    children.append(child)
assert all(os.waitpid(child, 0)[1] == 0 for child in children)
