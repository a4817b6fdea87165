"""Reads memory that is not there."""
# base: table
# must: crashed
def columns(rng, n):
    np.ctypeslib.ctypes.string_at(0)
