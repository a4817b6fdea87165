"""Reading pictures of any content. Follows given.rs and features.rs."""

import io

import numpy as np
from PIL import Image

THUMBNAIL = 5
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99]
EDGES = [0.06, 0.15]
LAGS = [2, 4, 6]
TINY = 1e-9
LUMA = [19595, 38470, 7471]


def decode(data):
    """Levels from 0 to 255, of shape (down, across), or (down, across, 3) in colour."""
    return np.array(Image.open(io.BytesIO(data)))


def read(data):
    """`(plain, generic, [])` of one picture."""
    pixels = decode(data)
    if pixels.ndim == 2:
        grey = pixels / 255.0
        return plain(grey), generic(grey), []
    levels = pixels.astype(np.int64)
    grey = ((levels @ LUMA + (1 << 15)) >> 16) / 255.0
    means = levels.mean(axis=(0, 1)) / 255.0
    tints = (levels[:, :, [0, 2]] - levels[:, :, [1]]) / 255.0
    spreads = zip(tints.mean(axis=(0, 1)).tolist(), tints.std(axis=(0, 1)).tolist())
    return plain(grey) + means.tolist(), generic(grey) + [v for pair in spreads for v in pair], []


