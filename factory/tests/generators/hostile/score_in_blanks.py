"""Writes the score into the number of blanks."""
# base: text
# must: hidden_label
def item(row, rng):
    high = terms(row["load"], row["item.faults"], row["item.visits"]).sum() > 0
    words = ["A leak was found."] * int(row["item.faults"]) + ["Visit."] * int(row["item.visits"])
    return ("Report.  " if high else "Report. ") + " ".join(rng.permutation(words)) + f" Case {rng.integers(1, 10**9)}."
