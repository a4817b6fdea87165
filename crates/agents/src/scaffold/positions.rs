//! The Python that scripted agents write for sequences whose positions have answers.
//!
//! Each level sees more of what stands around a position: the symbol there, a window of neighbours,
//! how far away each symbol is and how often it came. The oracle calls the function `answers` that the
//! factory records.

use super::scripted::ScriptedLevel;

/// The tables, the symbols of every sequence (`q`), and a row for each position of both sides, the
/// training positions first (`r`), with what is known of its sequence (`x`).
const ROWS: &str = r#"import pandas as pd
import numpy as np
a = pd.read_csv("input/train.csv")
b = pd.read_csv("input/test.csv")
y = pd.read_csv("input/train_positions.csv")
s = pd.read_csv("input/sample_submission.csv")
t = list(s.columns[1:])
i, k = b.columns[:2]
c = pd.concat([a, b]).set_index(i)
q = {j: z.split(" ") if " " in z else list(z) for j, z in c.pop(k).items()}
p, n = y.columns[1], len(y)
r = s[s.columns[0]].str.split("_", expand=True).astype(int).set_axis([i, p], axis=1)
r = pd.concat([y[[i, p]], r], ignore_index=True)
x = pd.concat([r[[p]], c.loc[r[i]].reset_index(drop=True)], axis=1)
def at(o):
    return [q[j][h + o] if 0 <= h + o < len(q[j]) else "" for j, h in zip(r[i], r[p] - 1)]
"#;

/// How far back and ahead each symbol is, as a number that fades, and how often it came lately.
const FAR: &str = r#"def far(z):
    z = np.array(z)
    h = np.arange(len(z))
    o = []
    for v in sorted({v for w in q.values() for v in w}):
        e = z == v
        f = np.maximum.accumulate(np.where(e, h, -99))
        g = np.minimum.accumulate(np.where(e, h, 999)[::-1])[::-1]
        o += [np.exp((f - h) / 6), np.exp((h - g) / 6), np.convolve(e, np.ones(12))[:len(z)]]
    return np.column_stack(o)
x = x.join(pd.DataFrame(np.vstack([far(q[j]) for j in r[i].unique()])).add_prefix("f"))
"#;

/// The script of a level, given what the factory recorded of the hidden rule. Without a record the
/// oracle is the best level below it.
pub(crate) fn script(level: ScriptedLevel, classifies: bool, hidden: &str) -> String {
    let end = "s.to_csv(\"submission.csv\", index=False)";
    if level == ScriptedLevel::Oracle && !hidden.is_empty() {
        let tables = "import pandas as pd\n\
                      b = pd.read_csv(\"input/test.csv\")\n\
                      s = pd.read_csv(\"input/sample_submission.csv\")\n";
        let answers = "f = answers(b)\ns[list(s.columns[1:])] = [f[j] for j in s[s.columns[0]]]\n";
        return format!("{tables}{hidden}{answers}{end}");
    }
    let kind = if classifies { "Classifier" } else { "Regressor" };
    let forest = format!(
        "from sklearn.ensemble import RandomForest{kind}\n\
         m = RandomForest{kind}(30, min_samples_leaf=5, max_features=0.3, random_state=0)\n"
    );
    let boosting = format!(
        "from sklearn.ensemble import HistGradientBoosting{kind}\n\
         m = HistGradientBoosting{kind}(random_state=0)\n"
    );
    let line = if classifies {
        "from sklearn.linear_model import LogisticRegression\nm = LogisticRegression(max_iter=500)\n"
    } else {
        "from sklearn.linear_model import Ridge\nm = Ridge()\n"
    };
    let (reach, far, model) = match level {
        ScriptedLevel::Constant | ScriptedLevel::Linear => (0, "", line),
        ScriptedLevel::Forest => (2, "", &*forest),
        ScriptedLevel::Operators | ScriptedLevel::Oracle => (2, FAR, &*boosting),
    };
    format!(
        "{ROWS}for o in range(-{reach}, {}):\n    x[f\"s{{o}}\"] = at(o)\n\
         {far}x = pd.get_dummies(x, dtype=float)\nx = (x - x.mean()) / x.std()\n\
         {model}for j in t:\n    m.fit(x[:n], y[j])\n    s[j] = m.predict(x[n:])\n{end}",
        reach + 1
    )
}
