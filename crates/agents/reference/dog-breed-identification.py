"""Mean colours of two parts of the picture, and distances to the breeds' means."""

import numpy as np
import pandas as pd
from PIL import Image
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict


def features(folder, names):
    rows = []
    for name in names:
        picture = np.asarray(Image.open(f"input/{folder}/{name}.jpg").convert("RGB"), float)
        head, body = picture[8:19, 18:30], picture[28:40, 12:36]
        rows.append([*head.mean(axis=(0, 1)), *body.mean(axis=(0, 1))])
    return np.array(rows)


train = pd.read_csv("input/labels.csv")
sample = pd.read_csv("input/sample_submission.csv")
breeds = list(sample.columns[1:])
x, y = features("train", train["id"]), train["breed"]
model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1)


def mixed(probabilities):
    """Never quite sure, so that one surprise does not cost too much."""
    return 0.97 * probabilities + 0.03 / len(breeds)


held_out = mixed(cross_val_predict(model, x, y, cv=4, method="predict_proba"))
test = features("test", sample["id"])
found = pd.DataFrame(mixed(model.fit(x, y).predict_proba(test)), columns=model.classes_)
submission = pd.concat([sample[["id"]], found[breeds]], axis=1)
submission.to_csv("submission.csv", index=False)
print("Validation score:", log_loss(y, held_out, labels=model.classes_))
