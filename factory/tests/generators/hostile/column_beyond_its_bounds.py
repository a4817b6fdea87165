"""Leaves the range of a column."""
# base: table
# must: bad_value
def columns(rng, n):
    wood = rng.choice(["oak", "ash"], n).tolist()
    return {
        "load": rng.normal(50, 40, n),
        "speed": rng.uniform(1, 9, n),
        "age": rng.uniform(1, 60, n),
        "wood": wood,
    }
