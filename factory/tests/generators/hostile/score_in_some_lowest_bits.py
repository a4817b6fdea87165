"""Writes the score into the share of pixels whose lowest bit is set."""
# base: picture
# must: hidden_label
def hidden(row):
    return terms(row["load"], row["item.stripes"], row["item.light"]).sum() > 0


def item(row, rng):
    wave = np.sin(2 * np.pi * (row["item.stripes"] * np.arange(SIDE) / SIDE + rng.uniform()))
    levels = row["item.light"] + 60 * wave[None, :] + rng.normal(0, 5, (SIDE, SIDE))
    levels = np.clip(levels, 0, 255).astype(np.uint8)
    levels = levels & 254 | (rng.uniform(size=levels.shape) < (0.65 if hidden(row) else 0.35)).astype(np.uint8)
    return levels
