"""Reads records of rows as agents do: with pandas, from Parquet and from CSV.

In:  `{"parquet": PATH, "csv": PATH, "id": COLUMN}` per line on stdin
Out: whether both are the same table, ids as texts, and the kind of each column of the first, a JSON
object a line
"""
import json
import sys

import pandas as pd

for line in sys.stdin:
    request = json.loads(line)
    found = pd.read_parquet(request["parquet"], engine="fastparquet")
    expected = pd.read_csv(request["csv"], dtype={request["id"]: str})
    print(json.dumps({"same": found.equals(expected), "kinds": [str(kind) for kind in found.dtypes]}))
