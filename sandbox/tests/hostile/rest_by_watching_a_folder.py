"""Asks for a signal when something changes in a folder."""
import fcntl
import os

for path in (".", "/tmp", "input"):
    try:
        folder = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    try:
        # F_NOTIFY: everything, again and again.
        fcntl.fcntl(folder, 1026, 0x8000003F)
    except PermissionError:
        continue
    raise AssertionError(path)
