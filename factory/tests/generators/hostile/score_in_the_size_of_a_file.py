"""Draws noise that grows with the score, so that an encoded picture does."""
# base: picture
# must: accepted
# later: harmless, because encoded pictures have one size
def hidden(row):
    return terms(row["load"], row["item.stripes"], row["item.light"]).sum() > 0


def item(row, rng):
    wave = np.sin(2 * np.pi * (row["item.stripes"] * np.arange(SIDE) / SIDE + rng.uniform()))
    levels = row["item.light"] + 60 * wave[None, :] + rng.normal(0, 5, (SIDE, SIDE))
    levels = np.clip(levels, 0, 255).astype(np.uint8)
    levels = np.clip(levels + rng.normal(0, 3 if hidden(row) else 0, levels.shape), 0, 255).astype(np.uint8)
    return levels
