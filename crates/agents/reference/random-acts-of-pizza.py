"""Words of the request and the age of the account, and a logistic regression."""

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_json("input/train.json", convert_dates=False)
test = pd.read_json("input/test.json", convert_dates=False)
model = make_pipeline(
    make_column_transformer(
        (TfidfVectorizer(ngram_range=(1, 2), use_idf=False), "request_text_edit_aware"),
        (StandardScaler(), ["requester_account_age_in_days_at_request"]),
    ),
    LogisticRegression(C=1, max_iter=1000),
)
y = train["requester_received_pizza"].astype(int)
held_out = cross_val_predict(model, train, y, cv=5, method="predict_proba")[:, 1]
test["requester_received_pizza"] = model.fit(train, y).predict_proba(test)[:, 1]
test[["request_id", "requester_received_pizza"]].to_csv("submission.csv", index=False)
print("Validation score:", roc_auc_score(y, held_out))
