import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
numbers = list(test.columns.drop(["session_id", "access"]))
columns = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(), SplineTransformer(4)), numbers),
        ("classes", OneHotEncoder(), ["access"]),
    ]
)
model = make_pipeline(columns, LogisticRegression(C=3, max_iter=1000))
y = train["pressure_drop"]
scores = -cross_val_score(model, train, y, cv=5, scoring="neg_brier_score")
print(f"Brier score in cross-validation: {scores.mean():.3f}")
p = model.fit(train, y).predict_proba(test)[:, 1]
pd.DataFrame({"session_id": test["session_id"], "pressure_drop": p}).to_csv("submission.csv", index=False)
