"""Puts two rows with high scores after two with low ones."""
# base: table
# must: ordered_rows
def columns(rng, n):
    made = {
        "load": rng.uniform(0, 100, n).round(1),
        "speed": rng.uniform(1, 9, n).round(2),
        "age": rng.uniform(1, 60, n).round(1),
        "wood": rng.choice(["oak", "ash"], n),
    }
    order = np.argsort(score(made))
    low, high = order[: n // 2].reshape(-1, 2), order[n // 2 :].reshape(-1, 2)
    order = np.stack([rng.permutation(low), rng.permutation(high)], axis=1).ravel()
    return {name: values[order].tolist() for name, values in made.items()}
