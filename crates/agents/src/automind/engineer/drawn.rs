//! Scripts for answers that no model of tables predicts: masks, boxes, pictures, texts, names,
//! answers per position. The plain ones of the scripted agents become a function of the tables, which
//! is validated on held-out training rows and then applied to all.

use super::reading::{Form, Reading};
use super::scores::{indented, of_cells};
use super::skeleton::WRITE;
use super::spec::{PlainModel, Spec};
use crate::run::knowledge::SnippetSlot;
use crate::scaffold::recipe::Recipe;
use crate::scaffold::scripted::ScriptedLevel;
use crate::scaffold::{challenges, positions, scenes};
use tasks::prediction::Prediction;
use tasks::task::Formulation;

const HEAD: &str = "import json\nimport numpy as np\nimport pandas as pd\n";

/// How lines of a scripted agent begin that read what the function is given.
const GIVEN: [&str; 4] =
    ["a = pd.read_csv(", "b = pd.read_csv(", "s = pd.read_csv(", "y = pd.read_csv("];

/// The script, in the parts of [`PARTS`](super::skeleton::PARTS).
pub(super) fn parts(spec: &Spec, reading: &Reading) -> [String; 3] {
    let script = plain(spec, reading);
    let is_given = |line: &&str| GIVEN.iter().any(|given| line.starts_with(given));
    let mut load = HEAD.to_owned();
    for line in script.lines().filter(is_given) {
        load.push_str(line);
        load.push('\n');
    }
    let arguments = if reading.has_positions() { "a, b, y, s" } else { "a, b, s" };
    let body = match spec.cards_of(SnippetSlot::Draw).filter(|_| reading.takes(SnippetSlot::Draw)) {
        Some(card) => format!("{OPENING}{card}return s\n"),
        None => script
            .lines()
            .filter(|line| !is_given(line))
            .map(|line| if line.starts_with("s.to_csv(") { "return s" } else { line })
            .fold(String::new(), |body, line| body + line + "\n"),
    };
    let predict = format!("def predict({arguments}):\n{}", indented(&body));
    let held_out = if reading.has_positions() { HELD_OUT_POSITIONS } else { HELD_OUT };
    [load, predict, format!("{}{held_out}folds = []\n{WRITE}", of_cells(reading))]
}

/// What a snippet finds.
const OPENING: &str = "t = s.columns[1]
a = a.copy()
y = a.pop(t)
n = len(a)
x = pd.concat([a, b]).drop(columns=s.columns[0]).reset_index(drop=True)
";

const HELD_OUT: &str = "t = s.columns[1]
h = np.arange(len(a)) % 4 == 3
f, r = a[~h].reset_index(drop=True), a[h].reset_index(drop=True)
q = s.iloc[[0] * len(r)].reset_index(drop=True)
q[q.columns[0]] = r[r.columns[0]].values
q = predict(f, r.drop(columns=t), q)
metric = score(r[t], q[t])
s = predict(a, b, s)
";

const HELD_OUT_POSITIONS: &str = "t = list(s.columns[1:])
i, k = y.columns[:2]
h = np.arange(len(a)) % 4 == 3
f, r = a[~h].reset_index(drop=True), a[h].reset_index(drop=True)
v = y[y[i].isin(r[i])].reset_index(drop=True)
w = y[y[i].isin(f[i])].reset_index(drop=True)
q = v[t].copy()
q.insert(0, s.columns[0], v[i].astype(str) + \"_\" + v[k].astype(str))
q[t] = s[t].iloc[0].values
q = predict(f, r, w, q)
metric = score(v[t], q[t])
s = predict(a, b, y, s)
";

/// The plain script of a scripted agent.
fn plain(spec: &Spec, reading: &Reading) -> String {
    let level = match spec.model {
        PlainModel::Line => ScriptedLevel::Linear,
        PlainModel::Neighbours | PlainModel::Forest => ScriptedLevel::Forest,
        PlainModel::Boosting => ScriptedLevel::Operators,
    };
    let strength = ["0.1", "1", "10"].into_iter().find(|known| *known == spec.strength);
    let recipe = Recipe {
        approach: level,
        strength: strength.unwrap_or("1"),
        trees: spec.trees,
        leaf: spec.leaf,
        keep: 20,
    };
    if reading.has_positions() {
        return positions::script(level, reading.form.is_class(), "");
    }
    let column = String::new;
    let prediction = match reading.form {
        Form::Mask => Prediction::Mask { column: column(), width: 0, height: 0 },
        Form::Boxes => Prediction::Boxes { column: column(), classes: Vec::new() },
        Form::Pixels => Prediction::Pixels { column: column(), width: 0, height: 0, levels: 2 },
        Form::Ids => Prediction::Ids { column: column(), most: 5 },
        _ => Prediction::Text { column: column() },
    };
    let formulation = match reading.task.as_str() {
        "span extraction" => Some(Formulation::Extraction),
        "recommendation" => Some(Formulation::Recommendation),
        "re-identification" => Some(Formulation::Retrieval),
        _ => Some(Formulation::Normalisation),
    };
    scenes::script(&recipe, &prediction, "")
        .or_else(|| challenges::script(level, formulation, &prediction, ""))
        .expect("every form that is drawn has a script")
}
