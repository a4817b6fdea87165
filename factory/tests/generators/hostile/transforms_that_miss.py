"""Returns transforms that do not explain the score."""
# base: table
# must: transform_misses
def transforms(columns, items):
    return np.column_stack([columns["load"], columns["speed"]])
