"""Has a score without bounds."""
# base: table
# must: bad_scores
def score(columns):
    return parts(columns).sum(axis=1) / (columns["load"] > np.sort(columns["load"])[3])
