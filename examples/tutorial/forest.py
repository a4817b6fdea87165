import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
x = pd.concat([train, test]).drop(columns=["session_id", "patient_code", "pressure_drop"])
x = pd.get_dummies(x, dtype=float)
y = train["pressure_drop"]
model = make_pipeline(
    SimpleImputer(), StandardScaler(), RandomForestClassifier(300, min_samples_leaf=3, random_state=0)
)
model.fit(x[: len(train)], y)
p = model.predict_proba(x[len(train) :])[:, 1]
pd.DataFrame({"session_id": test["session_id"], "pressure_drop": p}).to_csv("submission.csv", index=False)
print(f"{len(test)} rows predicted, mean {p.mean():.3f}")
