"""Keeps a latent in a file, from which the score follows."""
# base: table
# must: kept_state
def drawn(rng, n):
    return {
        "load": np.clip(rng.normal(50, 18, n), 0, 100),
        "speed": rng.uniform(1, 9, n),
        "age": np.clip(rng.exponential(9, n) + 1, 1, 60),
        "wood": rng.choice(["oak", "ash", "elm"], n).tolist(),
    }


def columns(rng, n):
    np.save("latents.npy", rng.normal(size=n))
    return drawn(rng, n)


def score(columns):
    return parts(columns).sum(axis=1) + np.load("latents.npy")
