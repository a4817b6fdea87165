"""Prints for ever."""
# policy: {"output_limit": "1MiB"}
# must: printed too much
while True:
    print("x" * 1000)
