"""Becomes another program, which knows nothing of Python's handlers."""
# policy: {"time_limit": "1s"}
# must: timed out
# must in session: was killed by signal 9
import os

os.execv("/bin/sh", ["sh", "-c", "trap '' TERM INT HUP; while :; do :; done"])
