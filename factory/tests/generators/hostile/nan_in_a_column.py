"""Has a missing value."""
# base: table
# must: bad_value
def columns(rng, n):
    load = rng.uniform(0, 100, n)
    load[3] = np.nan
    wood = rng.choice(["oak", "ash"], n).tolist()
    return {"load": load, "speed": rng.uniform(1, 9, n), "age": rng.uniform(1, 60, n), "wood": wood}
