//! The Python that scripted agents write for rows of text whose answer is a text.
//!
//! The weaker levels answer with what was seen in the training rows: for the same last cell, else
//! for the training row that is most alike. Where a piece of a text is asked for, they copy the
//! whole text, or the part of it whose words are found in answers most. The oracle calls the
//! function `answers` that the factory records. Where names are asked for, they look for rows that
//! are alike, or count what follows what.

use super::scripted::ScriptedLevel;
use tasks::prediction::Prediction;
use tasks::task::Formulation;

const OPENING: &str = r#"import pandas as pd
a = pd.read_csv("input/train.csv", dtype=str, keep_default_na=False)
b = pd.read_csv("input/test.csv", dtype=str, keep_default_na=False)
s = pd.read_csv("input/sample_submission.csv", dtype=str, keep_default_na=False)
t = s.columns[1]
c = b.columns[-1]
"#;

/// The most frequent answer for the same last cell, which else is the answer itself.
const SEEN: &str = r"y = a.groupby(c)[t].agg(lambda y: y.mode()[0])
s[t] = [y.get(w, w) for w in b[c]]
";

/// The same, with the answer of the most similar training row for cells that were not seen.
const NEAREST: &str = r#"from sklearn.feature_extraction.text import TfidfVectorizer
y = a.groupby(c)[t].agg(lambda y: y.mode()[0])
v = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 3))
x = v.fit_transform(a[c])
k = (v.transform(b[c]) @ x.T).toarray()
s[t] = [y[w] if w in y else a[t][r.argmax()] if r.max() > 0.5 else w for w, r in zip(b[c], k)]
"#;

/// The whole text.
const WHOLE: &str = "s[t] = b[b.columns[1]]\n";

/// The part of the text between two marks that has the highest share of words of answers to rows
/// with the same last cell.
const PARTS: &str = r#"import re
from collections import Counter
v = b.columns[1]
n = lambda x: Counter(w.strip(",;.!") for w in " ".join(x).lower().split())
f = {k: (n(g[t]), n(g[v])) for k, g in a.groupby(c)}
def cut(x, k):
    d, e = f[k]
    p = [q.strip(" ,;.!") for q in re.split("(?<=[,;.!]) ", x)]
    return max(p, key=lambda q: sum(d[w] / max(e[w], 1) for w in q.lower().split()) / len(q.split()))
s[t] = [cut(x, k) if k in f else x for x, k in zip(b[v], b[c])]
"#;

/// The script of a level for a prediction of a text, given what the factory recorded of the hidden
/// conventions. Without a record (tasks from elsewhere) the oracle is the best level below it.
pub(crate) fn script(
    level: ScriptedLevel,
    formulation: Option<Formulation>,
    prediction: &Prediction,
    hidden: &str,
) -> Option<String> {
    if let Prediction::Ids { .. } = prediction {
        return match formulation {
            Some(Formulation::Recommendation) => choices(level, hidden),
            _ => guesses(level, hidden),
        };
    }
    let Prediction::Text { .. } = prediction else { return None };
    let body = match level {
        ScriptedLevel::Constant => return None,
        ScriptedLevel::Oracle if !hidden.is_empty() => {
            format!("{hidden}s[t] = answers(a, b, t)\n")
        }
        ScriptedLevel::Linear if formulation == Some(Formulation::Extraction) => WHOLE.to_owned(),
        _ if formulation == Some(Formulation::Extraction) => PARTS.to_owned(),
        ScriptedLevel::Linear => SEEN.to_owned(),
        ScriptedLevel::Forest | ScriptedLevel::Operators | ScriptedLevel::Oracle => {
            NEAREST.to_owned()
        }
    };
    Some(format!("{OPENING}{body}s.to_csv(\"submission.csv\", index=False)"))
}

const MEASURED: &str = r#"import pandas as pd
a = pd.read_csv("input/train.csv")
b = pd.read_csv("input/test.csv")
s = pd.read_csv("input/sample_submission.csv")
t = s.columns[1]
"#;

/// The script for up to five names of individuals: neighbours among the rows as they stand, or
/// individuals by linear discriminant analysis.
fn guesses(level: ScriptedLevel, hidden: &str) -> Option<String> {
    let (module, model) = match level {
        ScriptedLevel::Constant => return None,
        ScriptedLevel::Oracle if !hidden.is_empty() => return Some(recorded(hidden)),
        ScriptedLevel::Linear => ("neighbors", "KNeighborsClassifier(5, weights=\"distance\")"),
        ScriptedLevel::Forest | ScriptedLevel::Operators | ScriptedLevel::Oracle => {
            ("discriminant_analysis", "LinearDiscriminantAnalysis()")
        }
    };
    let class = model.split('(').next().unwrap_or_default();
    Some(format!(
        "{MEASURED}from sklearn.{module} import {class}\n\
         x = pd.concat([a.drop(columns=t), b]).drop(columns=s.columns[0])\n\
         x = pd.get_dummies(x, drop_first=True, dtype=float)\n\
         m = {model}\n\
         m.fit(x[:len(a)], a[t])\n\
         p = (-m.predict_proba(x[len(a):])).argsort(1)\n\
         s[t] = [\" \".join(m.classes_[r[:5]]) for r in p]\n\
         s.to_csv(\"submission.csv\", index=False)"
    ))
}

/// The script that answers by what the factory recorded, where answers are names.
fn recorded(hidden: &str) -> String {
    let body = "s[t] = answers(a, b, t)\ns.to_csv(\"submission.csv\", index=False)";
    format!("{MEASURED}{hidden}{body}")
}

/// The items that are chosen most by rows with the same words.
const LIKED: &str = r#"from collections import Counter
h, ws = b.columns[-1], list(b.columns[1:3])
q = [x.split() + [y] for x, y in zip(a[h], a[t])]
e = {}
for c in ws:
    for w, x in zip(a[c], q):
        e.setdefault((c, w), Counter()).update(x)
def liked(r):
    k = Counter()
    for d in (e.get((c, w), {}) for c, w in zip(ws, r)):
        for i in d:
            k[i] += d[i] / sum(d.values())
    return k
def first(k):
    return " ".join(sorted(k, key=lambda i: (-k[i], i))[:5])
"#;

/// What adds to these the items that followed the choices `LAGS` back, and those that come back.
const FOLLOWED: &str = r"f = {n: {} for n in LAGS}
g = Counter()
for x in q:
    for n in f:
        for i, j in zip(x, x[n:]):
            f[n].setdefault(i, Counter())[j] += 1
    g.update(n for n in range(1, len(x)) if x[-1 - n] == x[-1])
def after(x, k):
    for n in f:
        d = f[n].get(x[-n], {})
        for i in d:
            k[i] += d[i] / sum(d.values())
    for n, i in enumerate(reversed(x), 1):
        k[i] += g[n] / len(q)
    return k
s[t] = [first(after(x.split(), liked(r))) for x, r in zip(b[h], b[ws].to_numpy())]
";

/// The script for what someone chooses next: what is chosen most for the words, and from the second
/// level on what followed the last choice or the last three.
fn choices(level: ScriptedLevel, hidden: &str) -> Option<String> {
    let body = match level {
        ScriptedLevel::Constant => return None,
        ScriptedLevel::Oracle if !hidden.is_empty() => return Some(recorded(hidden)),
        ScriptedLevel::Linear => "s[t] = [first(liked(r)) for r in b[ws].to_numpy()]\n".to_owned(),
        ScriptedLevel::Forest => format!("LAGS = (1,)\n{FOLLOWED}"),
        ScriptedLevel::Operators | ScriptedLevel::Oracle => {
            format!("LAGS = (1, 2, 3)\n{FOLLOWED}")
        }
    };
    Some(format!("{MEASURED}{LIKED}{body}s.to_csv(\"submission.csv\", index=False)"))
}
