"""Asks for a signal when somebody opens a file, its own or one that all runs share."""
import fcntl

open("mine", "w").write("x")
for path in ("mine", "input/train.csv", "/usr/lib/os-release"):
    try:
        with open(path) as file:
            # F_SETLEASE, F_RDLCK.
            fcntl.fcntl(file, 1024, 0)
    except OSError as error:
        assert isinstance(error, (PermissionError, FileNotFoundError)), error
        continue
    raise AssertionError(path)
