"""Writes until it is stopped: in memory first, then on the host's disk."""

import os
import time

from common import OUTPUT, fails, model, submit

piece = bytes(1 << 20)
status, entry = submit(model("honest", 0.5))
assert (status, entry["score"]) == (200, 0.5), entry


def fill(folder):
    with open(f"{folder}/fill", "wb") as file:
        for _ in range(4096):
            file.write(piece)


assert fails(fill, "/dev/shm").errno == 28
os.unlink("/dev/shm/fill")
for number in range(100_000):
    (OUTPUT / f"{number}.bin").write_bytes(piece)
    time.sleep(0.01)
