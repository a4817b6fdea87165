"""Makes its output fail instead of wait, for everybody who shares it."""
# policy: {"output_limit": "1MiB"}
# must: printed too much
import os

os.set_blocking(1, False)
while True:
    try:
        os.write(1, b"x" * 4096)
    except BlockingIOError:
        pass
