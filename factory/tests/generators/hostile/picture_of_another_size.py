"""Returns pictures of several sizes."""
# base: picture
# must: bad_shape
def item(row, rng):
    return np.zeros((SIDE, SIDE + int(row["item.stripes"])), np.uint8)
