"""Gives a column the name of a path."""
# base: table
# must: bad_name
def columns(rng, n):
    return {"../../etc/passwd": rng.normal(size=n)}
