"""Keeps descriptors on their way through sockets, where they are no process's."""
import os
import socket

reader, _ = os.pipe()
pairs, sent = [], 0
try:
    while True:
        pairs.append(socket.socketpair())
        for _ in range(20):
            socket.send_fds(pairs[-1][0], [b"x"], [reader] * 50, socket.MSG_DONTWAIT)
            sent += 50
except OSError:
    pass
# Without a box, none at all.
assert (sent == 0) == ("@TIER@" == "t3"), sent
assert sent < 3000, sent
