"""Renames the host."""
import ctypes
import socket

libc = ctypes.CDLL(None, use_errno=True)
assert libc.sethostname(b"mine", 4) == -1 and libc.setdomainname(b"mine", 4) == -1
assert socket.gethostname() != "mine"
