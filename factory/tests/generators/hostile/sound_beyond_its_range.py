"""Returns samples that are not finite."""
# base: sound
# must: bad_value
def item(row, rng):
    return np.full(SAMPLES, np.nan)
