"""The next values of every series, from what is known ahead, its past, and the calendar."""
import re

import numpy as np
import pandas as pd

train, test = pd.read_csv("input/train.csv"), pd.read_csv("input/test.csv")
sample, page = pd.read_csv("input/sample_submission.csv"), open("input/description.md").read()
ID, TARGET = sample.columns[:2]
series, step, cycle = (
    re.search(rf"^\| `(\w+)` \| {kind} \|", page, re.M) for kind in ("series", "step", "position in a cycle")
)
series, step = series.group(1), step.group(1)
x = pd.concat([train, test], ignore_index=True)
N = len(train)
order = x.sort_values([series, step]).index
columns = {}
known = [name for name in test if name not in (ID, series, step) and (not cycle or name != cycle.group(1))]
for name in known:
    if pd.api.types.is_numeric_dtype(x[name]):
        value = x[name].astype(float).where(x[name] != -999)
        if value.isna().any():
            columns[f"{name}?"] = value.isna().astype(float)
        # Neighbours in time fill a gap.
        value = value.loc[order].groupby(x[series].loc[order]).transform(lambda v: v.interpolate(limit_direction="both"))
        columns[name] = value.reindex(x.index).fillna(value.median())
    else:
        for kind in x[name].dropna().unique()[:6]:
            columns[f"{name}={kind}"] = (x[name] == kind).astype(float)
for name in list(columns):
    if name.endswith("?"):
        continue
    ordered = columns[name].loc[order].groupby(x[series].loc[order])
    for lag in (1, 2, 3, 4):
        columns[f"{name} {lag} ago"] = ordered.shift(lag).reindex(x.index).fillna(columns[name].mean())
    columns[f"{name} lately"] = ordered.transform(lambda v: v.rolling(3, min_periods=1).mean()).reindex(x.index)
for name in known:
    if pd.api.types.is_numeric_dtype(x[name]):
        continue
    kinds = [key for key in columns if key.startswith(f"{name}=") and " " not in key][:2]
    for kind in kinds:
        for other in known:
            if other in columns:
                columns[f"{other} while {kind}"] = columns[other] * columns[kind]
                for lag in (1, 2):
                    columns[f"{other} {lag} ago while {kind}"] = columns[f"{other} {lag} ago"] * columns[kind]
for name in x[series].unique():
    columns[f"series {name}"] = (x[series] == name).astype(float)
level = train.groupby(series)[TARGET].mean()
columns["level"] = x[series].map(level).astype(float)
columns["step"] = x[step].astype(float)
if cycle:
    place = x[cycle.group(1)]
    for kind in sorted(place.unique())[:12]:
        columns[f"cycle {kind}"] = (place == kind).astype(float)
    season = (train[TARGET] - train[series].map(level)).groupby(place[:N]).mean()
    columns["season"] = place.map(season).astype(float)
TARGETS = [TARGET]

