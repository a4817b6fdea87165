"""Writes to /tmp what it may hold."""
# policy: {"scratch": "4MiB"}
open("/tmp/part", "wb").write(bytes(3 << 20))
