"""Moves data of the task, gives it a second name, changes its size or its times."""
import os

changes = [
    lambda: os.rename("input/train.csv", "mine"),
    lambda: os.link("input/train.csv", "mine"),
    lambda: os.truncate("input/train.csv", 0),
    lambda: os.utime("input/train.csv", (0, 0)),
    lambda: os.chmod("input/train.csv", 0o777),
    lambda: os.unlink("input/train.csv"),
    lambda: os.mkdir("input/mine"),
    lambda: os.symlink("/etc", "input/mine"),
    lambda: os.mkfifo("input/mine"),
    lambda: os.setxattr("input/train.csv", "user.x", b"x"),
]
for number, change in enumerate(changes):
    try:
        change()
    except OSError:
        continue
    raise AssertionError(number)
