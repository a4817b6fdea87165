"""Has a column that says nothing."""
# base: table
# must: constant_column
def columns(rng, n):
    wood = rng.choice(["oak", "ash"], n).tolist()
    return {"load": rng.uniform(0, 100, n), "speed": np.full(n, 5.0), "age": rng.uniform(1, 60, n), "wood": wood}
