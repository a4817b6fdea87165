"""Has a thread wake the process whenever it is stopped."""
# must in session: finished, timed out, was killed by signal 9
import os
import signal
import threading
import time


def wake():
    while True:
        os.kill(os.getpid(), signal.SIGCONT)


threading.Thread(target=wake, daemon=True).start()
before, at = time.process_time(), time.monotonic()
time.sleep(0.05)
# --- next run
# must in session: finished, raised NameError
import time

if "@MODE@" == "session":
    used = time.process_time() - before
    assert used < 5, used
