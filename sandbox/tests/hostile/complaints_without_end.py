"""Prints for ever on standard error."""
# policy: {"output_limit": "1MiB"}
# must: printed too much
import sys

while True:
    print("x" * 1000, file=sys.stderr)
