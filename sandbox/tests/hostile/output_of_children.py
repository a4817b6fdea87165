"""Has children print, all at once."""
# policy: {"output_limit": "1MiB"}
# must: printed too much
import os

for _ in range(3):
    os.fork()
while True:
    os.write(1, b"x" * 5000)
