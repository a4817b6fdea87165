"""Opens every kind of socket that could leave the run, loopback included."""
import socket

refused = 0
# By number, because a Python may not know all their names: IPv4, IPv6, netlink, packet,
# Bluetooth, kernel crypto, virtual machines.
families = [2, 10, 16, 17, 31, 38, 40]
for family in families:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind)
        except OSError:
            refused += 1
            continue
        raise AssertionError((family, kind))
assert refused == 3 * len(families)
for address in (("127.0.0.1", 80), ("localhost", 22), ("1.1.1.1", 53), ("example.com", 443)):
    try:
        socket.create_connection(address, timeout=2)
    except OSError:
        continue
    raise AssertionError(address)
try:
    interfaces = open("/proc/net/dev").read().splitlines()[2:]
except PermissionError:
    interfaces = []
assert all(line.split(":")[0].strip() == "lo" for line in interfaces), interfaces
