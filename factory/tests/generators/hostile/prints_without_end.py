"""Prints for ever."""
# base: table
# must: output_limit
def score(columns):
    while True:
        print("x" * 10_000)
