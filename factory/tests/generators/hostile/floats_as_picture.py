"""Returns pictures of floats, which could hold anything beyond their levels."""
# base: picture
# must: bad_shape
def item(row, rng):
    return rng.uniform(0, 1, (SIDE, SIDE))
