"""Prints most of what it may."""
# policy: {"output_limit": "1MiB"}
print("x" * 1_000_000)
