"""Asks for more memory than there is."""
# base: table
# must: out_of_memory
def columns(rng, n):
    return {"load": np.ones((n, 1 << 24)).sum(axis=1)}
