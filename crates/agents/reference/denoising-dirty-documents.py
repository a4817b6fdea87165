"""Each pixel from its neighbourhood of 5 by 5 and the light around it, by a random forest."""

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.ensemble import RandomForestRegressor


def grey(path):
    return np.asarray(Image.open(path).convert("L"), float) / 255


def features(page):
    height, width = page.shape
    near = np.pad(page, 2, mode="edge")
    shifts = [near[r : r + height, c : c + width] for r in range(5) for c in range(5)]
    far = np.pad(page, 4, mode="edge")
    wide = np.stack([far[r : r + height, c : c + width] for r in range(9) for c in range(9)])
    light = [wide.max(axis=0), np.median(wide, axis=0), wide.min(axis=0)]
    return np.stack(shifts + light, axis=-1).reshape(height * width, -1)


names = sorted(path.name for path in Path("input/train").iterdir())
x = [features(grey(f"input/train/{name}")) for name in names]
y = [grey(f"input/train_cleaned/{name}").ravel() for name in names]
model = RandomForestRegressor(30, min_samples_leaf=3, max_features=0.4, random_state=0)
half = len(names) // 2
model.fit(np.concatenate(x[:half]), np.concatenate(y[:half]))
error = model.predict(np.concatenate(x[half:])) - np.concatenate(y[half:])
model.fit(np.concatenate(x), np.concatenate(y))

sample = pd.read_csv("input/sampleSubmission.csv")
values = {}
for path in sorted(Path("input/test").iterdir()):
    page = grey(path)
    clean = model.predict(features(page)).reshape(page.shape)
    for (row, column), value in np.ndenumerate(clean):
        values[f"{path.stem}_{row + 1}_{column + 1}"] = value
sample["value"] = sample["id"].map(values)
sample.to_csv("submission.csv", index=False)
print("Validation score:", np.sqrt(np.mean(error**2)))
