"""Writes the score into the last sample of its sounds."""
# base: sound
# must: hidden_label
def item(row, rng):
    time = np.arange(SAMPLES) / SAMPLES
    sound = row["item.level"] * np.sin(2 * np.pi * (row["item.pitch"] * time + rng.uniform()))
    sound[-1] = terms(row["load"], row["item.pitch"], row["item.level"]).sum() > 0
    return sound
