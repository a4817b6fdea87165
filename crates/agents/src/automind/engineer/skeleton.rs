//! The scripts of the scripted engineer, in the three parts in which they can be run: the tables are
//! read, the columns are built, a model is trained, validated and applied. Snippets of cards stand
//! where their slots are.

use super::drawn;
use super::reading::{Form, Reading};
use super::scores::of_columns;
use super::slip;
use super::spec::{PlainModel, Spec};
use crate::knowledge::Slot;
use crate::scaffold::items::ItemKind;
use std::fmt::Write as _;

/// Names of the parts, as steps of a plan.
pub(super) const PARTS: [&str; 3] =
    ["Load the tables", "Build what is predicted from", "Train, validate and submit"];

pub(super) const TABLES: &str = r#"import json
import numpy as np
import pandas as pd
a = pd.read_csv("input/train.csv")
b = pd.read_csv("input/test.csv")
s = pd.read_csv("input/sample_submission.csv")
"#;

const LOOK: &str = "_look = len(a)\n";

const CLEAN: &str = "x = pd.get_dummies(x, dtype=float)
x = x.replace([np.inf, -np.inf], np.nan)
x = x.loc[:, x[n:].nunique() > 1]
x = x.fillna(x.median())
x.columns = x.columns.astype(str)
";

/// What the page does not say, the tables do.
const GUESSED: &str = "_c = list(s.columns[1:])
t = _c if len(_c) > 1 and set(_c) <= set(a.columns) else a.columns.difference(b.columns)[0]
y = a[t]
a = a.drop(columns=t)
_several = isinstance(y, pd.DataFrame)
_flags = _several and all(set(y[c]) <= {0, 1} for c in y)
is_class = _flags or not _several and (y.dtype == object or y.nunique() <= 20 and (y == y.round()).all())
";

/// Predictions of one model, whatever the targets. Names of the skeleton's own begin with `_`, so
/// that no snippet takes their place.
const PREDICT: &str = r#"from sklearn.base import clone as _clone
from sklearn.model_selection import GroupKFold as _GroupKFold, KFold as _KFold
from sklearn.model_selection import StratifiedKFold as _StratifiedKFold
def _one(m, x, y, z):
    if isinstance(y, pd.DataFrame):
        return np.column_stack([_one(m, x, y[c], z) for c in y])
    if not is_class:
        return np.ravel(_clone(m).fit(x, y).predict(z))
    r = np.zeros((len(z), len(_labels)))
    if y.nunique() == 1:
        r[:, _labels.index(y.iloc[0])] = 1
    else:
        f = _clone(m).fit(x, y)
        k = [_labels.index(c) for c in f.classes_]
        if hasattr(f, "predict_proba"):
            r[:, k] = f.predict_proba(z)
        else:
            r[:, k] = f.predict(z)[:, None] == f.classes_
    return r[:, 1] if len(_labels) == 2 else r
"#;

const VALIDATE: &str = "o = None
for _i, _j in _folds:
    _q = _one(m, x.iloc[_i], y.iloc[_i], x.iloc[_j])
    o = np.zeros((n, *_q.shape[1:])) if o is None else o
    o[_j] = _q
p = _one(m, x.iloc[:n], y, x.iloc[n:])
o, p, y = np.asarray(undo(o), float), np.asarray(undo(p), float), _true
";

const REPORT: &str = r"o, p = np.asarray(o, float), np.asarray(p, float)
_metric = _score(_true, o)
_folds = [_score(_true.iloc[_j], o[_j]) for _, _j in _folds]
";

/// The end of every script.
pub(super) const WRITE: &str = r#"s.to_csv("submission.csv", index=False)
_folds = [float(f) for f in _folds if np.isfinite(f)]
json.dump({"metric": float(_metric), "folds": _folds}, open("validation.json", "w"))
print("validation:", float(_metric))
"#;

/// The script of a plan, in its parts.
pub(super) fn parts(spec: &Spec, reading: &Reading) -> [String; 3] {
    let mut parts = shortest(spec, reading);
    if let Some(lines) = spec.lines {
        lengthen(&mut parts, lines as usize);
    }
    parts
}

/// Adds looks at the table, evenly over the parts, until so many lines can have a slip.
fn lengthen(parts: &mut [String; 3], lines: usize) {
    let missing = lines.saturating_sub(parts.iter().map(|part| slip::breakable(part)).sum());
    let [load, build, train] = parts;
    load.push_str(&LOOK.repeat(missing.div_ceil(3)));
    build.push_str(&LOOK.repeat((missing + 1) / 3));
    // Before the end: the last line of a script is its validation.
    train.insert_str(0, &LOOK.repeat(missing / 3));
}

fn shortest(spec: &Spec, reading: &Reading) -> [String; 3] {
    let draws = reading.form == Form::Quantiles && spec.cards_of(Slot::Draw).is_some();
    if reading.is_drawn() || draws {
        return drawn::parts(spec, reading);
    }
    [load(spec, reading), columns(spec), train(spec, reading)]
}

fn load(spec: &Spec, reading: &Reading) -> String {
    let mut code = TABLES.to_owned();
    let target = match reading.form {
        _ if reading.in_names => {
            "t = s.columns[1]\ny = a[a.columns[1]].str.extract(\"([^/.]*)[.][^/]*$\")[0]\n"
        }
        Form::Numbers | Form::Probabilities => {
            "t = list(s.columns[1:])\ny = a[t]\na = a.drop(columns=t)\n"
        }
        Form::Flags => "t = s.columns[1]\ny = a.pop(t).fillna(\"\").str.get_dummies(\" \")\n",
        Form::Relevance => {
            "t = s.columns[1]\ny = a.pop(t)\n_queries = a.pop(a.columns[1])\nb = b.drop(columns=b.columns[1])\n"
        }
        Form::Unknown => GUESSED,
        _ => "t = a.columns.difference(b.columns)[0]\ny = a.pop(t)\n",
    };
    code.push_str(target);
    code.push_str("n = len(a)\n");
    if reading.form != Form::Unknown {
        code.push_str(if reading.form.is_class() {
            "is_class = True\n"
        } else {
            "is_class = False\n"
        });
    }
    code.push_str("x = pd.concat([a, b]).drop(columns=s.columns[0]).reset_index(drop=True)\n");
    let plain = || reading.item.map(ItemKind::reading).unwrap_or_default();
    code.push_str(&spec.cards_of(Slot::Read).unwrap_or_else(plain));
    code
}

fn columns(spec: &Spec) -> String {
    let mut code = spec.cards_of(Slot::Clean).unwrap_or_default();
    code.push_str(CLEAN);
    if let Some(cards) = spec.cards_of(Slot::Features) {
        code.push_str(&cards);
        code.push_str(
            "x = x.loc[:, ~x.columns.duplicated()].replace([np.inf, -np.inf], np.nan).fillna(0.0)\n\
             x.columns = x.columns.astype(str)\n",
        );
    }
    code.push_str("if x.shape[1] == 0:\n    x[\"one\"] = 1.0\n");
    code.push_str("_true = y\nundo = lambda p: p\n");
    if let Some(card) = spec.cards_of(Slot::Target) {
        code.push_str(&card);
        code.push_str("y = y if hasattr(y, \"iloc\") else pd.Series(np.ravel(y))\n");
    }
    code
}

fn train(spec: &Spec, reading: &Reading) -> String {
    let form = reading.form;
    let mut code = match form {
        Form::Unknown => {
            "_labels = [0, 1] if _several else sorted(y.unique()) if is_class else []\n"
        }
        Form::Probabilities | Form::Flags => "_labels = [0, 1]\n",
        _ if form.is_class() => "_labels = sorted(y.unique())\n",
        _ => "",
    }
    .to_owned();
    code.push_str(&spec.cards_of(Slot::Model).unwrap_or_else(|| model(spec, form)));
    code.push_str(PREDICT);
    code.push_str(&of_columns(reading));
    code.push_str(match form {
        Form::Relevance => "_folds = list(_GroupKFold(5).split(x[:n], y, _queries))\n",
        Form::Unknown => {
            "_single = is_class and not _several and y.value_counts().min() >= 5\n\
             _k = _StratifiedKFold if _single else _KFold\n\
             _folds = list(_k(5, shuffle=True, random_state=0).split(x[:n], y))\n"
        }
        _ if form.is_class() && !form.is_several() => {
            "_k = _StratifiedKFold if y.value_counts().min() >= 5 else _KFold\n\
             _folds = list(_k(5, shuffle=True, random_state=0).split(x[:n], y))\n"
        }
        _ => "_folds = list(_KFold(5, shuffle=True, random_state=0).split(x[:n]))\n",
    });
    code.push_str(VALIDATE);
    match form {
        // Beyond what was seen some metrics are not even defined.
        Form::Number | Form::Numbers => {
            code.push_str(
                "o, p = (np.clip(k, y.values.min(0), y.values.max(0)) for k in (o, p))\n",
            );
        }
        Form::Quantiles => code.push_str(
            "_e = np.quantile(y.values - o, [0.1, 0.5, 0.9])\n\
             o, p = o[:, None] + _e, p[:, None] + _e\n",
        ),
        _ => {}
    }
    code.push_str(&spec.cards_of(Slot::Post).unwrap_or_default());
    code.push_str(REPORT);
    code.push_str(match form {
        Form::Label => "s[t] = _pick(p)\n",
        Form::ClassProbabilities => PROBABILITIES,
        Form::Flags => "s[t] = [\" \".join(_true.columns[r > 0.5]) for r in p]\n",
        Form::Quantiles => "s[s.columns[1:]] = p\n",
        Form::Unknown => UNKNOWN,
        _ => "s[t] = p\n",
    });
    code.push_str(WRITE);
    code
}

const PROBABILITIES: &str = "p = np.clip(_both(p), 1e-9, None)
p = p / p.sum(1, keepdims=True)
for k, c in enumerate(_labels):
    s[str(c)] = p[:, k]
";

const UNKNOWN: &str = "if is_class and not _several and len(_c) > 1:
    p = np.clip(_both(p), 1e-9, None)
    p = p / p.sum(1, keepdims=True)
    for k, l in enumerate(_labels):
        s[str(l)] = p[:, k]
elif is_class and not _several and (s[_c[0]].dtype == object or len(_labels) > 2 or (s[_c[0]] == s[_c[0]].round()).all() and s[_c[0]].nunique() > 1):
    s[_c[0]] = _pick(p)
else:
    s[_c] = p if p.ndim > 1 else p[:, None]
";

/// A plain model.
fn model(spec: &Spec, form: Form) -> String {
    let Spec { model, .. } = spec;
    if form == Form::Unknown {
        return format!(
            "if is_class:\n{}else:\n{}",
            super::scores::indented(&plain(spec, *model, true)),
            super::scores::indented(&plain(spec, *model, false))
        );
    }
    plain(spec, *model, form.is_class())
}

fn plain(spec: &Spec, model: PlainModel, classifies: bool) -> String {
    let Spec { strength, neighbours, trees, leaf, rounds, rate, .. } = spec;
    let kind = if classifies { "Classifier" } else { "Regressor" };
    let (module, name, settings) = match model {
        PlainModel::Line if classifies => {
            ("linear_model", "LogisticRegression".to_owned(), format!("C={strength}, max_iter=500"))
        }
        PlainModel::Line => ("linear_model", "Ridge".to_owned(), format!("1 / {strength}")),
        PlainModel::Neighbours => (
            "neighbors",
            format!("KNeighbors{kind}"),
            format!("{neighbours}, weights=\"distance\""),
        ),
        PlainModel::Forest => (
            "ensemble",
            format!("RandomForest{kind}"),
            format!("{trees}, min_samples_leaf={leaf}, random_state=0"),
        ),
        PlainModel::Boosting => (
            "ensemble",
            format!("HistGradientBoosting{kind}"),
            format!("max_iter={rounds}, learning_rate={rate}, min_samples_leaf=10, random_state=0"),
        ),
    };
    let mut code = format!("from sklearn.{module} import {name}\n");
    match model {
        PlainModel::Line | PlainModel::Neighbours => {
            let _ = write!(
                code,
                "from sklearn.pipeline import make_pipeline\n\
                 from sklearn.preprocessing import StandardScaler\n\
                 m = make_pipeline(StandardScaler(), {name}({settings}))\n"
            );
        }
        PlainModel::Forest | PlainModel::Boosting => {
            let _ = writeln!(code, "m = {name}({settings})");
        }
    }
    code
}
