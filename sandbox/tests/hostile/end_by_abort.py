"""Aborts, as a failed check in a C library does."""
# must: was killed by signal 6
import os

os.abort()
