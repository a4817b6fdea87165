"""Gives scores by the place of a row, not by what it holds."""
# base: table
# must: kept_state
def score(columns):
    return np.random.Generator(np.random.Philox(7)).normal(size=len(columns["load"]))
