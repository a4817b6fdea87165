"""Crashes, so that its memory is written where others read it."""
import ctypes
import os

child = os.fork()
if child == 0:
    ctypes.string_at(0)
_, status = os.waitpid(child, 0)
assert os.WIFSIGNALED(status) and not os.WCOREDUMP(status)
assert sorted(os.listdir(".")) == ["input"], os.listdir(".")
