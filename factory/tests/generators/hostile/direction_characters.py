"""Turns the direction of writing in a text."""
# base: text
# must: bad_text
def item(row, rng):
    high = terms(row["load"], row["item.faults"], row["item.visits"]).sum() > 0
    words = ["A leak was found."] * int(row["item.faults"]) + ["Visit."] * int(row["item.visits"])
    return "\u202e" + " ".join(rng.permutation(words)) + f" Case {rng.integers(1, 10**9)}."
