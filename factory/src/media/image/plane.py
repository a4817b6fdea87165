def plane(grid, marked):
    """Middle and slopes (per half side) of the least-squares plane through the marked pixels."""
    along = coordinates(len(grid))
    rows, columns = np.nonzero(marked)
    x, y = along[columns], along[rows]
    terms = np.stack([np.ones(len(x)), x, y, grid[marked]])
    normal = (terms @ terms.T)[:3]
    for pivot in range(3):
        if normal[pivot, pivot] < 1e-12:
            continue
        for index in range(3):
            if index != pivot:
                normal[index] -= normal[index, pivot] / normal[pivot, pivot] * normal[pivot]
    return [
        normal[index, 3] / normal[index, index] if normal[index, index] >= 1e-12 else 0.0
        for index in range(3)
    ]


def without_plane(grid, level):
    """What is left above a plane."""
    along = coordinates(len(grid))
    return grid - (level[0] + level[1] * along[None, :] + level[2] * along[:, None])


def around(values):
    """The sums of the eight neighbours that exist."""
    padded = np.pad(values, 1)
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - values
