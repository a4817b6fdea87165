"""Words and their frequencies, and a logistic regression for each label."""

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

train = pd.read_csv("input/train.csv")
test = pd.read_csv("input/test.csv")
sample = pd.read_csv("input/sample_submission.csv")
assert (test["id"] == sample["id"]).all()
scores = []
for label in sample.columns[1:]:
    model = make_pipeline(
        TfidfVectorizer(sublinear_tf=True),
        LogisticRegression(C=10, class_weight="balanced", max_iter=1000),
    )
    x, y = train["comment_text"], train[label]
    held_out = cross_val_predict(model, x, y, cv=4, method="predict_proba")[:, 1]
    scores.append(roc_auc_score(y, held_out))
    sample[label] = model.fit(x, y).predict_proba(test["comment_text"])[:, 1]
sample.to_csv("submission.csv", index=False)
print("Validation score:", np.mean(scores))
