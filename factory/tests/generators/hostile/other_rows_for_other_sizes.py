"""Draws from another distribution if fewer rows are asked for."""
# base: table
# must: not_generative
def columns(rng, n):
    wood = rng.choice(["oak", "ash"], n).tolist()
    load = rng.uniform(0, 100 if n > 100 else 40, n)
    return {"load": load, "speed": rng.uniform(1, 9, n), "age": rng.uniform(1, 60, n), "wood": wood}
