"""Adds a column that holds the score."""
# base: table
# must: bad_name
def columns(rng, n):
    return {"load": rng.uniform(0, 100, n), "target_hint": rng.normal(size=n)}
