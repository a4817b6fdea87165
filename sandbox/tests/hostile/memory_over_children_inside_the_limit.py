"""Has children that together take what one may."""
# policy: {"memory": "300MiB"}
import os
import time

for _ in range(2):
    if os.fork() == 0:
        held = bytearray(100 << 20)
        time.sleep(0.5)
        os._exit(0)
for _ in range(2):
    assert os.wait()[1] == 0
