"""Calls itself without end, having told Python not to mind."""
# policy: {"memory": "300MiB", "time_limit": "3s"}
# must: ran out of memory, was killed by signal 11, timed out
import sys

sys.setrecursionlimit(10**9)


def f():
    f()


f()
