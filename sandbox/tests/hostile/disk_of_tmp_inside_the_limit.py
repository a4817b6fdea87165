"""Writes as many temporary files as there may be."""
# policy: {"scratch": "4MiB"}
import os

open(f"{os.environ['TMPDIR']}/part", "wb").write(bytes(3 << 20))
