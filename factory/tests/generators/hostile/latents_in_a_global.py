"""Keeps a latent in memory, from which the score follows."""
# base: table
# must: kept_state
KEPT = {}


def columns(rng, n):
    KEPT["latent"] = rng.normal(size=n)
    return {
        "load": np.clip(rng.normal(50, 18, n), 0, 100),
        "speed": rng.uniform(1, 9, n),
        "age": np.clip(rng.exponential(9, n) + 1, 1, 60),
        "wood": rng.choice(["oak", "ash", "elm"], n).tolist(),
    }


def score(columns):
    latent = KEPT.get("latent", np.zeros(len(columns["load"])))
    return parts(columns).sum(axis=1) + latent
