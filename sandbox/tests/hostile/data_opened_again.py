"""Opens what it may only read a second time, by its descriptor, to write."""
import os

for path in ("input/train.csv", os.__file__, "/bin/sh"):
    descriptor = os.open(path, os.O_RDONLY)
    for name in (f"/proc/self/fd/{descriptor}", f"/dev/fd/{descriptor}"):
        for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_WRONLY | os.O_APPEND):
            try:
                os.open(name, flags)
            except OSError:
                continue
            raise AssertionError((path, name, flags))
