"""Repeats one row in twenty."""
# base: table
# must: duplicate
def columns(rng, n):
    rows = rng.choice(n - n // 20, n)
    rows[: n - n // 20] = np.arange(n - n // 20)
    rows = rng.permutation(rows)
    wood = rng.choice(["oak", "ash"], n)[rows].tolist()
    return {
        "load": rng.uniform(0, 100, n)[rows],
        "speed": rng.uniform(1, 9, n)[rows],
        "age": rng.uniform(1, 60, n)[rows],
        "wood": wood,
    }
