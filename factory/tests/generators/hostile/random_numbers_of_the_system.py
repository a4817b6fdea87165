"""Draws from a generator that the system seeds."""
# base: table
# must: not_deterministic
def score(columns):
    return parts(columns).sum(axis=1) + np.random.default_rng().normal(size=len(columns["load"]))
