"""Reads the tables of a task and cleans their plain columns.

Leaves train, test, sample, ID, TARGETS, QUERY, `x` (the features of the training rows, then
those of the test rows), `files` and `texts` (columns that name files or hold prose; named texts are read), and
`columns`: clean number columns, which the parts that follow add to. Answers that stand in the names of
training files become a column of train.
"""
import glob
import itertools
import json
import re
import warnings

import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")


def read(name):
    return pd.read_csv(f"input/{name}.csv", keep_default_na=False, na_values=[""])


train, test, sample = read("train"), read("test"), read("sample_submission")
page = open("input/description.md").read()
ID = sample.columns[0]
TARGETS = [name for name in train if name not in test]
# A label stands before the first of two dots in the name of a file.
LABELLED = r"([^/.]+)\.[^/.]*\.[^/]*$"
named = [] if TARGETS else [name for name in test if train[name].astype(str).str.contains(LABELLED).all()]
if named:
    TARGETS = [sample.columns[1] if sample.shape[1] == 2 else "label"]
    train[TARGETS[0]] = train[named[0]].str.extract(LABELLED)[0]
QUERY = re.search(r"^\| `(\w+)` \| query", page, re.M)
QUERY = QUERY and QUERY.group(1)
N = len(train)

x = pd.concat([train[test.columns], test], ignore_index=True)
x_ids = pd.concat([train[ID], test[ID]], ignore_index=True) if ID in train else pd.Series(dtype=object)
OWN = [f"input/{name}.csv" for name in ("train", "test", "sample_submission")]
names = [name for name in test if name not in (ID, QUERY)]
words = [name for name in names if not pd.api.types.is_numeric_dtype(x[name])]
files = [name for name in words if x[name].str.contains(r"^\w+/([^/]+\.\w+|\d+)$", na=True).all()]
for name in [name for name in files if x[name].str.endswith(".txt", na=False).any()]:
    x[name] = [open(f"input/{path}").read() if isinstance(path, str) else path for path in x[name]]
    files.remove(name)
kinds = dict(re.findall(r"^\| `(\w+)` \| (group|date|list of readings) \|", page, re.M))
words = [name for name in words if name not in kinds]
texts = [name for name in words if name not in files and x[name].str.len().mean() > 40]

columns = {}
for name in names:
    if name not in words and name not in kinds:
        columns[name] = x[name].astype(float).where(x[name] != -999)
# How far places of a row are apart, in kilometres: latitudes and longitudes are in degrees.
places = [name[:-4] for name in columns if name.endswith("_lat") and f"{name[:-4]}_lon" in columns]
for one, other in itertools.combinations(places, 2):
    lat, lon, to_lat, to_lon = (np.radians(columns[f"{p}_{end}"]) for p in (one, other) for end in ("lat", "lon"))
    h = np.sin((to_lat - lat) / 2) ** 2 + np.cos(lat) * np.cos(to_lat) * np.sin((to_lon - lon) / 2) ** 2
    columns[f"{one} to {other}"] = 2 * 6371.0088 * np.arcsin(np.sqrt(h))
for name in [name for name, kind in kinds.items() if kind == "list of readings"]:
    lists = [[float(value) for value in str(cell).split()] for cell in x[name]]
    for what, summary in (("mean", np.mean), ("largest", np.max), ("least", np.min), ("count", len)):
        columns[f"{name} {what}"] = pd.Series([float(summary(values)) for values in lists])
def further(path):
    """A further table: CSV, Parquet, or lines of JSON, each with an id and a list of records."""
    if path.endswith(".csv"):
        return pd.read_csv(path)
    if path.endswith(".parquet"):
        table = pd.read_parquet(path, engine="fastparquet")
        return table.astype({ID: x_ids.dtype}) if ID in table else table
    lines = [json.loads(line) for line in open(path)]
    (name,) = [name for name in lines[0] if isinstance(lines[0][name], list)]
    return pd.json_normalize(lines, name, ID).astype({ID: x_ids.dtype})


# What is usually computed of records of rows in other files.
for path in sorted(path for end in ("csv", "jsonl", "parquet") for path in glob.glob(f"input/*.{end}")):
    records = further(path)
    if path in OWN or ID not in records:
        continue
    by = records.groupby(ID)
    columns[f"{path} lines"] = x_ids.map(by.size()).fillna(0).astype(float)
    for name in [name for name in records.select_dtypes("number") if name != ID]:
        for summary in ("mean", "max", "min"):
            columns[f"{name} {summary}"] = x_ids.map(by[name].agg(summary)).astype(float)
# Groups of test rows are new, and so are their dates.
for name in words:
    if name in files or name in texts:
        continue
    unit = re.search(rf"^\| `{name}` \| unit of `(\w+)` \| .*?1 std = ([\d.]+) alt", page, re.M)
    if unit:
        owner, factor = unit.group(1), float(unit.group(2))
        columns[owner] = columns[owner].where(x[name] != "alt", columns[owner] / factor)
        continue
    for kind in x[name].value_counts().index[:12]:
        columns[f"{name}={kind}"] = (x[name] == kind).astype(float)
for name in [name for name in columns if columns[name].isna().any()]:
    columns[f"{name}?"] = columns[name].isna().astype(float)
    columns[name] = columns[name].fillna(columns[name][:N].median())

