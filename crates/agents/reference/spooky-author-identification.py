"""Counts of words, and naive Bayes."""

import pandas as pd
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

train = pd.read_csv("input/train.csv")
test = pd.read_csv("input/test.csv")
model = make_pipeline(CountVectorizer(), MultinomialNB())
x, y = train["text"], train["author"]
held_out = cross_val_predict(model, x, y, cv=5, method="predict_proba")
found = pd.DataFrame(model.fit(x, y).predict_proba(test["text"]), columns=model.classes_)
pd.concat([test[["id"]], found], axis=1).to_csv("submission.csv", index=False)
print("Validation score:", log_loss(y, held_out, labels=model.classes_))
