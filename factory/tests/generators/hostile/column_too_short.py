"""Returns fewer rows than asked for."""
# base: table
# must: bad_shape
def columns(rng, n):
    return {"load": rng.uniform(0, 100, n - 1)}
