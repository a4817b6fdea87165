"""Leaves children that are stopped, and would go on if anybody woke them."""
# at most: 8s
import os
import signal
import time

for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
        open("alive", "w").write("x")
        os._exit(0)
time.sleep(0.1)
# --- next run
import os
import signal
import time

try:
    os.kill(-1, signal.SIGCONT)
except OSError:
    pass
time.sleep(0.2)
assert not os.path.exists("alive")
