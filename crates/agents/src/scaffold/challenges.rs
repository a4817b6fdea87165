//! The Python that scripted agents write for rows of text whose answer is a text.
//!
//! The weaker levels answer with what was seen in the training rows: for the same last cell, else
//! for the training row that is most alike. The oracle calls the function `answers` that the
//! factory records.

use super::scripted::ScriptedLevel;
use tasks::prediction::Prediction;

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

/// The script of a level for a prediction of a text, given what the factory recorded of the hidden
/// conventions. Without a record (tasks from elsewhere) the oracle is the best level below it.
pub(super) fn script(
    level: ScriptedLevel,
    prediction: &Prediction,
    hidden: &str,
) -> Option<String> {
    let Prediction::Text { .. } = prediction else { return None };
    let body = match level {
        ScriptedLevel::Constant => return None,
        ScriptedLevel::Oracle if !hidden.is_empty() => {
            format!("{hidden}s[t] = answers(a, b, t)\n")
        }
        ScriptedLevel::Linear => SEEN.to_owned(),
        ScriptedLevel::Forest | ScriptedLevel::Operators | ScriptedLevel::Oracle => {
            NEAREST.to_owned()
        }
    };
    Some(format!("{OPENING}{body}s.to_csv(\"submission.csv\", index=False)"))
}
