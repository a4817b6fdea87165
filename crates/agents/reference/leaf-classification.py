"""The three vectors, scaled, and a discriminant analysis with shrinkage."""

import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("input/train.csv")
test = pd.read_csv("input/test.csv")
sample = pd.read_csv("input/sample_submission.csv")
species = list(sample.columns[1:])
columns = [name for name in test.columns if name != "id"]
x, y = train[columns], train["species"]
model = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"))
held_out = cross_val_predict(model, x, y, cv=3, method="predict_proba")
found = pd.DataFrame(model.fit(x, y).predict_proba(test[columns]), columns=model.classes_)
submission = pd.concat([test[["id"]], found[species]], axis=1)
submission.to_csv("submission.csv", index=False)
print("Validation score:", log_loss(y, held_out, labels=model.classes_))
