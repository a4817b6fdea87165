"""Connects to services that are known to listen, by every kind of address."""
import socket

for family, address in (
    (socket.AF_INET, ("127.0.0.1", int("@PORT@"))), (socket.AF_INET, ("0.0.0.0", int("@PORT@"))),
    (socket.AF_INET6, ("::1", int("@PORT@"))), (socket.AF_UNIX, "@CORPUS@/listener"),
    (socket.AF_UNIX, "\0@LISTENER@"), (socket.AF_UNIX, "/proc/1/root@CORPUS@/listener"),
):
    try:
        with socket.socket(family) as client:
            client.connect(address)
    except OSError:
        continue
    raise AssertionError(address)
