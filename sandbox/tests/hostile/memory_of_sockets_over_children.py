"""Has children keep bytes in the buffers of sockets, each as much as it may."""
# policy: {"processes": 40, "time_limit": "10s", "memory": "300MiB"}
# must: finished, ran out of memory
import os
import socket
import time

for _ in range(30):
    if os.fork() == 0:
        held = []
        try:
            while True:
                held.append(socket.socketpair())
                held[-1][0].setblocking(False)
                try:
                    while True:
                        held[-1][0].send(bytes(1 << 16))
                except BlockingIOError:
                    pass
        except OSError:
            pass
        time.sleep(1)
        os._exit(0)
for _ in range(30):
    os.wait()
