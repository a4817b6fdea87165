"""Stops instead of ending, so that nothing is there to wait for."""
# policy: {"time_limit": "1s"}
# must: timed out
import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
