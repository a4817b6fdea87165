"""Submits a second name of another file."""
# submission: has other hard links
import os

open("other", "w").write("id,y\n")
os.link("other", "submission.csv")
try:
    os.link("input/train.csv", "submission.csv.2")
except OSError:
    pass
else:
    raise AssertionError("a second name of the data")
