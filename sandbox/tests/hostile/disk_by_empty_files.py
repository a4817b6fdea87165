"""Makes more files than there may be, all of them empty."""
# must: ran out of disk space
for number in range(150):
    open(f"empty{number}", "wb").close()
