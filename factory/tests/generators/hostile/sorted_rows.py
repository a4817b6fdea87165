"""Hands out its rows in the order of the score."""
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
    return {name: values[order].tolist() for name, values in made.items()}
