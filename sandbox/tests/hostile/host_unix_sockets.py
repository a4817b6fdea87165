"""Looks for services of the host that listen on a path or an abstract name."""
import socket

for path in (
    "/run/docker.sock", "/var/run/docker.sock", "/run/dbus/system_bus_socket",
    "/run/systemd/private", "/tmp/.X11-unix/X0", "\0/tmp/.X11-unix/X0", "\0dbus", "/dev/log",
):
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    except OSError:
        continue
    raise AssertionError(path)
try:
    listening = open("/proc/net/unix").read().splitlines()[1:]
except PermissionError:
    listening = []
assert not [line for line in listening if "/" in line or "@" in line], listening
