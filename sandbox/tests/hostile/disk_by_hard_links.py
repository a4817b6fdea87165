"""Gives one file more names than there may be files."""
# must: ran out of disk space
import os

open("one", "w").close()
for number in range(150):
    os.link("one", f"name{number}")
