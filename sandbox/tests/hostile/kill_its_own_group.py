"""Kills its process group, in the hope that others are in it."""
# must: was killed by signal 9
import os
import signal

os.kill(0, signal.SIGKILL)
