"""Makes a file of 10 GiB."""
# base: table
# must: disk_limit
def columns(rng, n):
    np.memmap("huge", mode="w+", shape=(10 << 30,))
