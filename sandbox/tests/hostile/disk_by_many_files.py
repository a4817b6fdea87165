"""Fills the work dir with files that are each small enough."""
# policy: {"file_size": "4MiB"}
# must: ran out of disk space
for number in range(3):
    open(f"part{number}", "wb").write(bytes(3 << 20))
