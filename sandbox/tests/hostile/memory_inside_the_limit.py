"""Takes most of what it may have."""
# policy: {"memory": "300MiB"}
import numpy

assert numpy.ones(200 << 17).sum() == 200 << 17
