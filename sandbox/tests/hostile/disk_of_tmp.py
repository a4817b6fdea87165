"""Fills /tmp."""
# policy: {"scratch": "4MiB"}
# must: ran out of disk space
for number in range(2):
    open(f"/tmp/part{number}", "wb").write(bytes(3 << 20))
