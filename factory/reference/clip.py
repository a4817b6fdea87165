"""Measures clips: light, and how what stands out drifts and grows from frame to frame."""
import os

from PIL import Image, ImageSequence
from scipy import ndimage


def frames(path):
    """The frames that are not black, from 0 to 1, and their times."""
    if os.path.isdir(f"input/{path}"):
        count = len(os.listdir(f"input/{path}"))
        stack = [Image.open(f"input/{path}/{time}.png") for time in range(count)]
    else:
        stack = ImageSequence.Iterator(Image.open(f"input/{path}"))
    seen = [(time, np.asarray(frame, float) / 255) for time, frame in enumerate(stack)]
    return [(time, frame) for time, frame in seen if frame.any()] or seen[:1]


def line(times, values):
    """The value halfway, and the slope over time."""
    times, values = np.asarray(times, float), np.asarray(values, float)
    off = times - times.mean()
    slope = (off * values).sum() / max((off * off).sum(), 1e-9)
    return values.mean() + slope * (3.5 - times.mean()), slope


def measured(path):
    """Numbers of one clip."""
    rows = []
    for time, frame in frames(path):
        level = np.median(frame)
        off = ndimage.gaussian_filter(frame, 0.5) - level
        strength = np.quantile(np.abs(off), 0.99)
        core = np.abs(off)[np.abs(off) > 0.75 * strength].mean() if strength else 0.0
        # Half the strength of what stands out: the outline of a thing, whatever its strength.
        marks, count = ndimage.label(np.abs(off) > 0.5 * core, np.ones((3, 3)))
        area = np.bincount(marks.ravel())[1:]
        kept = np.flatnonzero(area >= 10) + 1
        if not len(kept):
            rows.append([time, level, core, 0.0, 0.0, 0.0, 0.0])
            continue
        down, right = np.mean(ndimage.center_of_mass(marks > 0, marks, kept), axis=0)
        rows.append([time, level, core, len(kept), right, down, np.log(area[kept - 1].mean())])
    rows = np.array(rows)
    count = np.sort(rows[:, 3])[len(rows) // 2]
    # Where a thing is missed or taken for two, the mean place jumps.
    whole = rows[rows[:, 3] == count]
    light, brightening = line(rows[:, 0], rows[:, 1])
    right, down = line(whole[:, 0], whole[:, 4])[1], line(whole[:, 0], whole[:, 5])[1]
    size, growth = line(whole[:, 0], whole[:, 6])
    return {
        "light": light, "brightening": brightening, "strength": rows[:, 2].mean(), "things": count,
        "right": right, "down": down, "speed": np.hypot(right, down),
        "direction": np.degrees(np.arctan2(down, right)), "size": np.exp(size / 2), "growth": growth,
    }  # fmt: skip


for name in files:
    known = {path: measured(path) for path in x[name].dropna().unique()}
    seen = pd.DataFrame([known.get(path, {}) for path in x[name]])
    seen = seen.fillna(seen[:N].median())
    columns.update({f"{name}: {key}": seen[key] for key in seen})
