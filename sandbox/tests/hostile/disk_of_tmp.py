"""Fills the folder for temporary files."""
# policy: {"scratch": "4MiB"}
# must: ran out of disk space
import os

for number in range(2):
    open(f"{os.environ['TMPDIR']}/part{number}", "wb").write(bytes(3 << 20))
