"""Has nothing to predict."""
# base: table
# must: bad_scores
def score(columns):
    return np.ones(len(columns["load"]))
