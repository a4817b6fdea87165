"""Shares the load among children of a thread, whom the kernel lists apart from its siblings'."""
# policy: {"memory": "300MiB"}
# must: ran out of memory
import os
import threading
import time


def breed():
    for _ in range(6):
        if os.fork() == 0:
            held = bytearray(100 << 20)
            time.sleep(20)
            os._exit(0)
    time.sleep(20)


thread = threading.Thread(target=breed)
thread.start()
thread.join()
