"""Writes one file that is larger than files may be."""
# policy: {"file_size": "4MiB"}
# must: ran out of disk space
open("huge", "wb").write(bytes(5 << 20))
