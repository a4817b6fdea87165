"""Fills the disk with files that are open and have no name any more."""
# policy: {"file_size": "4MiB"}
# must: ran out of disk space
import os
import time

held = []
for _ in range(20):
    held.append(open("ghost", "wb"))
    os.unlink("ghost")
    held[-1].write(bytes(3 << 20))
    held[-1].flush()
    # Where disk space is added up, that takes a moment.
    time.sleep(0.3)
