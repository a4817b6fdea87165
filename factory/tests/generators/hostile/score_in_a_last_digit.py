"""Writes the score into the last digit of a column."""
# base: table
# must: hidden_label
def columns(rng, n):
    made = {
        "load": rng.uniform(1, 99, n).round(0),
        "speed": rng.uniform(1, 9, n).round(2),
        "age": rng.uniform(2, 59, n).round(1),
        "wood": rng.choice(["oak", "ash"], n),
    }
    order = np.argsort(np.argsort(score(made)))
    made["load"] += np.floor(10 * order / n) / 10
    return {name: values.tolist() for name, values in made.items()}
