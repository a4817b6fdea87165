"""Leaves children that wake it whenever it is stopped, and make others when they are killed."""
# must in session: finished, timed out, was killed by signal 9
# policy: {"time_limit": "5s"}
import os
import signal
import time

parent = os.getpid()
before, at = time.process_time(), time.monotonic()
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        while True:
            os.kill(parent, signal.SIGCONT)
            # The next one goes on in its place.
            if os.fork():
                os._exit(0)
time.sleep(0.05)
# --- next run
# must in session: finished, raised NameError
import time

if "@MODE@" == "session":
    used = time.process_time() - before
    assert used < 5, used
