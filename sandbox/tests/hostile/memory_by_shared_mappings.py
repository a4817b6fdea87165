"""Maps memory that belongs to no process alone."""
# policy: {"memory": "300MiB"}
import mmap

try:
    mmap.mmap(-1, 400 << 20)
except OSError:
    pass
else:
    raise AssertionError("more than the limit")
assert len(mmap.mmap(-1, 100 << 20)) == 100 << 20
