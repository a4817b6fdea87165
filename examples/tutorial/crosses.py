import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
words = ["access"]
# Patients of test sessions are new, so their codes say nothing.
numbers = list(test.columns.drop(["session_id", "patient_code", *words]))
scaled = make_pipeline(SimpleImputer(), StandardScaler())
columns = ColumnTransformer(
    [("numbers", scaled, numbers), ("classes", OneHotEncoder(), words)],
    sparse_threshold=0,
)
model = make_pipeline(
    columns,
    PolynomialFeatures(2, interaction_only=True),
    StandardScaler(),
    LogisticRegression(C=0.03, max_iter=2000),
)
y = train["pressure_drop"]
scores = cross_val_score(model, train, y, cv=5, scoring="roc_auc")
print(f"ROC AUC in cross-validation: {scores.mean():.3f}")
p = model.fit(train, y).predict_proba(test)[:, 1]
pd.DataFrame({"session_id": test["session_id"], "pressure_drop": p}).to_csv("submission.csv", index=False)
