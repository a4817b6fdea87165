"""Asks for more than there is in one piece."""
# policy: {"memory": "300MiB"}
# must: ran out of memory
import numpy

numpy.ones(400 << 17)
