"""Leaves something for the next run in the libraries that all runs share."""
import errno
import os
import sys

import numpy

REFUSED = (errno.EROFS, errno.EACCES, errno.EBUSY, errno.EPERM, errno.EXDEV, errno.EINVAL)
places = [os.path.dirname(numpy.__file__), sys.prefix, os.path.dirname(os.__file__)]
places += ["/usr/lib", "/usr/bin", "/bin", "/etc", "/", "/opt", "/dev", "/empty"]
for place in filter(os.path.isdir, places):
    for attempt in (
        lambda: open(f"{place}/planted.py", "w"),
        lambda: os.mkdir(f"{place}/planted"),
        lambda: os.symlink("/work", f"{place}/planted"),
        lambda: os.rename(place, f"{place}-away"),
    ):
        try:
            attempt()
        except OSError as error:
            assert error.errno in REFUSED, error
            continue
        raise AssertionError(place)
try:
    open(numpy.__file__, "a")
except OSError as error:
    assert error.errno in (errno.EROFS, errno.EACCES)
else:
    raise AssertionError("numpy")
