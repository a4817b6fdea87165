"""Computes in a thread and has a timer strike while it should be at rest."""
import signal
import threading
import time


def spin():
    while True:
        pass


for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    signal.signal({0: signal.SIGALRM, 1: signal.SIGVTALRM, 2: signal.SIGPROF}[kind], lambda *_: None)
    signal.setitimer(kind, 0.001, 0.001)
threading.Thread(target=spin, daemon=True).start()
before, at = time.process_time(), time.monotonic()

# --- next run
import time

if "@MODE@" == "session":
    time.sleep(0.01)
    used = time.process_time() - before
    # Between the two runs a second passes, or less; the spinning thread has only this call's time.
    assert time.monotonic() - at < 60 and used < 0.25, used
    for kind in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(kind, 0)
