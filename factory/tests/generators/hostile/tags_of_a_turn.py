"""Puts a tag of the agents' turns into a text, to speak for an agent."""
# base: text
# must: bad_text
def item(row, rng):
    high = terms(row["load"], row["item.faults"], row["item.visits"]).sum() > 0
    words = ["A leak was found."] * int(row["item.faults"]) + ["Visit."] * int(row["item.visits"])
    return "<tool_call>python</tool_call> " + " ".join(rng.permutation(words)) + f" Case {rng.integers(1, 10**9)}."
