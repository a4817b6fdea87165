"""Each token is read as it was read most often, and as it stands where it is new."""

import pandas as pd


def read(name):
    return pd.read_csv(f"input/{name}.csv.zip", dtype=str, keep_default_na=False)


def readings(table):
    return table.groupby("before")["after"].agg(lambda after: after.value_counts().index[0])


train = read("en_train")
test = read("en_test_2")
held_out = train["sentence_id"].astype(int) % 5 == 0
known = readings(train[~held_out])
part = train[held_out]
score = (part["before"].map(known).fillna(part["before"]) == part["after"]).mean()
after = test["before"].map(readings(train)).fillna(test["before"])
ids = test["sentence_id"] + "_" + test["token_id"]
pd.DataFrame({"id": ids, "after": after}).to_csv("submission.csv", index=False)
print("Validation score:", score)
