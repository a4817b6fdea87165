"""Makes most of the files that there may be."""
import os

for number in range(80):
    open(f"empty{number}", "wb").close()
assert len(os.listdir(".")) == 81
