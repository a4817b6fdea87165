"""Returns objects that only a pickle could hold."""
# base: table
# must: bad_shape
class Row:
    def __reduce__(self):
        return (print, ("pickled",))


def columns(rng, n):
    return {"load": np.array([Row() for _ in range(n)], dtype=object)}
