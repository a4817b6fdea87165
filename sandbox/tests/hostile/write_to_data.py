"""Changes the task's data for whoever comes next."""
import os

for attempt in (
    lambda: open("input/train.csv", "a"),
    lambda: open("input/new.csv", "w"),
    lambda: os.remove("input/train.csv"),
    lambda: os.truncate("input/train.csv", 0),
    lambda: os.chmod("input/train.csv", 0o777),
    lambda: os.utime("input/train.csv"),
    lambda: os.rmdir("input"),
):
    try:
        attempt()
    except OSError:
        continue
    raise AssertionError("the data was changed")
assert open("input/train.csv").readline() == "id,x,y\n"
