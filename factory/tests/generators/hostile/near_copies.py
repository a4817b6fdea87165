"""Repeats rows with a last digit changed."""
# base: table
# must: accepted
# later: near_copy, once rows are split
def columns(rng, n):
    half = (n + 1) // 2
    twice = rng.permutation(np.arange(n) % half)
    return {
        "load": np.clip(rng.uniform(0, 99, half)[twice] + rng.uniform(0, 1, n), 0, 100),
        "speed": np.clip(rng.uniform(1, 8.9, half)[twice] + rng.uniform(0, 0.1, n), 1, 9),
        "age": np.clip(rng.uniform(1, 59, half)[twice] + rng.uniform(0, 1, n), 1, 60),
        "wood": rng.choice(["oak", "ash"], half)[twice].tolist(),
    }
