"""Locks files that all runs share, or asks who has: one run could tell another something."""
import errno
import fcntl
import os

shared = ["input/train.csv", os.__file__, "/bin/sh"]
for path in shared:
    with open(path) as file:
        for kind in (fcntl.LOCK_SH, fcntl.LOCK_EX):
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
            except OSError as error:
                assert error.errno == errno.ENOSYS, error
            else:
                raise AssertionError(path)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass
        else:
            raise AssertionError(path)
        # F_GETLK, F_OFD_GETLK.
        for command in (5, 36):
            try:
                fcntl.fcntl(file, command, bytes(32))
            except PermissionError:
                continue
            raise AssertionError((path, command))
