"""Keeps bytes in the buffers of sockets."""
import errno
import socket

kept = 0
pairs = []
try:
    while True:
        pairs.append(socket.socketpair())
        writer = pairs[-1][0]
        writer.setblocking(False)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF, 32, 33):
            try:
                writer.setsockopt(socket.SOL_SOCKET, option, 1 << 30)
            except PermissionError:
                continue
            raise AssertionError(option)
        try:
            while True:
                kept += writer.send(bytes(1 << 16))
        except BlockingIOError:
            pass
except OSError as error:
    assert error.errno == errno.EMFILE, error
assert len(pairs) < 130 and kept < 64 << 20, (len(pairs), kept >> 20)
