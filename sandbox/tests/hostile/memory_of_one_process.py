"""Takes memory until there is none."""
# policy: {"memory": "300MiB"}
# must: ran out of memory
held = []
while True:
    held.append(bytearray(10 << 20))
