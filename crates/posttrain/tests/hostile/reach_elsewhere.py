"""Connects to other hosts, to other ports of this one, and to its sockets with names."""

import socket

from common import ask, fails, hint, model, submit


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as client:
        client.settimeout(2)
        client.connect(address)
        client.send(b"hello")
        return client.recv(1)


for port in hint("ports"):
    for host in ["127.0.0.1", "127.0.0.2", "0.0.0.0", *hint("addresses")]:
        fails(connect, socket.AF_INET, (host, port))
        fails(connect, socket.AF_INET, (host, port), socket.SOCK_DGRAM)
    fails(connect, socket.AF_INET6, ("::1", port))
for host in ["1.1.1.1", "8.8.8.8", "169.254.169.254", "10.0.0.1"]:
    for port in [53, 80, 443]:
        fails(connect, socket.AF_INET, (host, port))
fails(socket.getaddrinfo, "example.org", 443)
fails(connect, socket.AF_UNIX, "\0" + hint("abstract"))
fails(connect, socket.AF_UNIX, hint("operator"))
VSOCK = 40
for family in [socket.AF_PACKET, socket.AF_NETLINK, socket.AF_INET, VSOCK]:
    fails(socket.socket, family, socket.SOCK_RAW)
# The door leads to the server's routes, and names nobody else: an absolute address is a path to it.
assert ask("/v1/health")[0] == 200
with socket.create_connection(("127.0.0.1", 5000)) as client:
    port = hint("ports")[0]
    client.send(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nhost: x\r\n\r\n" % port)
    assert b" 200 " not in client.recv(100)
status, entry = submit(model("honest", 0.5))
assert (status, entry["score"]) == (200, 0.5), entry
