"""Fills /dev/shm, which the whole host would share."""
# policy: {"scratch": "4MiB"}
# must: ran out of disk space
# must in t3: raised PermissionError
for number in range(2):
    open(f"/dev/shm/part{number}", "wb").write(bytes(3 << 20))
