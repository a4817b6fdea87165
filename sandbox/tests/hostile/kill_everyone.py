"""Kills every process there is."""
import os
import signal

try:
    os.kill(-1, signal.SIGKILL)
except OSError:
    pass
# The run goes on, and so does what makes processes for it.
child = os.fork()
if child == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
