"""Words and their frequencies, and a logistic regression."""

import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

train = pd.read_csv("input/train.csv")
sample = pd.read_csv("input/sample_submission_null.csv")
model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=1000))
x, y = train["Comment"], train["Insult"]
held_out = cross_val_predict(model, x, y, cv=5, method="predict_proba")[:, 1]
sample["Insult"] = model.fit(x, y).predict_proba(sample["Comment"])[:, 1]
sample.to_csv("submission.csv", index=False)
print("Validation score:", roc_auc_score(y, held_out))
