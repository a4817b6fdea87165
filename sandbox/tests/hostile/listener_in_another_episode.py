"""Listens under a name, and has another episode look for it."""
import socket

try:
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0between-episodes")
    server.listen()
except OSError:
    pass
# --- next episode
import socket

try:
    socket.socket(socket.AF_UNIX).connect("\0between-episodes")
except OSError:
    pass
else:
    raise AssertionError("somebody answered")
