"""Sends single packets, which need no connection: UDP, ping, a name server."""
import socket

for family, kind, protocol in (
    (socket.AF_INET, socket.SOCK_DGRAM, 0), (socket.AF_INET6, socket.SOCK_DGRAM, 0),
    (socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_INET, socket.SOCK_DGRAM, 1),
):
    try:
        socket.socket(family, kind, protocol).sendto(b"secret", ("1.1.1.1", 53))
    except OSError:
        continue
    raise AssertionError((family, kind))
try:
    socket.getaddrinfo("example.com", 80)
except OSError:
    pass
else:
    raise AssertionError("a name was resolved")
