"""Replaces a function that the driver rounds with."""
# base: table
# must: bad_value
import pandas.io.common


def columns(rng, n):
    pandas.io.common.os.sys.modules["builtins"].round = lambda value, decimals: value
    return {
        "load": np.clip(rng.normal(50, 18, n), 0, 100),
        "speed": rng.uniform(1, 9, n),
        "age": np.clip(rng.exponential(9, n) + 1, 1, 60),
        "wood": rng.choice(["oak", "ash", "elm"], n).tolist(),
    }
