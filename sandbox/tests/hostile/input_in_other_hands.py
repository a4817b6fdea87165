"""Puts something else in the place of its data, for its own next run or for others'."""
import os

for change in (lambda: os.rename("input", "other"), lambda: os.rmdir("input")):
    try:
        change()
    except OSError:
        pass
# Without a box it is a link of its own.
if "@TIER@" == "t3" and not os.path.lexists("input"):
    os.symlink("@CORPUS@/alpha/prepared/private", "input")
# --- next run
import os

try:
    names = os.listdir("input")
except OSError:
    names = []
assert "answer.csv" not in names and "notes.txt" not in names, names
# --- next episode
import os

assert "train.csv" in os.listdir("input")
