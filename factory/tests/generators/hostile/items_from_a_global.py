"""Shows a latent in its items that no column holds."""
# base: picture
# must: kept_state
KEPT = {"rows": [], "next": 0}


def score(columns):
    KEPT["rows"] = terms(columns["load"], columns["item.stripes"], columns["item.light"]).sum(axis=1)
    KEPT["next"] = len(KEPT["rows"])
    return KEPT["rows"]


def item(row, rng):
    KEPT["next"] -= 1
    light = 128 + 20 * KEPT["rows"][KEPT["next"]]
    return np.clip(rng.normal(light, 9, (SIDE, SIDE)), 0, 255).astype(np.uint8)
