"""Fills the disk with files that are open and have no name any more."""
# policy: {"file_size": "4MiB"}
# must: ran out of disk space
import os

held = []
for number in range(3):
    held.append(open("ghost", "wb"))
    os.unlink("ghost")
    held[-1].write(bytes(3 << 20))
    held[-1].flush()
