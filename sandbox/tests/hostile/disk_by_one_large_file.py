"""Writes one file as large as files may be."""
# policy: {"file_size": "4MiB"}
import os

open("large", "wb").write(bytes(4 << 20))
assert os.stat("large").st_size == 4 << 20
