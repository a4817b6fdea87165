"""Runs the Python in responses of raw tables: a row as JSON a line in, the answer as text out."""

import json
import re
import sys

import pandas as pd

for line in sys.stdin:
    row = json.loads(line)
    table = row["table"]
    code = re.search(r"```python\n(.*?)```", row["response"], re.DOTALL)[1]
    names = {"df": pd.DataFrame(table["data"], columns=table["columns"])}
    exec(code, names)
    print(json.dumps(str(names["answer"])))
