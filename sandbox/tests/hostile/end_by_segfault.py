"""Reads where there is nothing."""
# must: was killed by signal 11
import ctypes

ctypes.string_at(0)
