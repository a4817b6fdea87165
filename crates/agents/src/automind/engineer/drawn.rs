//! Scripts for answers that no model of tables predicts: masks, boxes, pictures, texts, names,
//! answers per position. The plain ones of the scripted agents become a function of the tables, which
//! is validated on held-out training rows and then applied to all.

use super::reading::{Form, Reading};
use super::scores::{indented, of_cells};
use super::skeleton::{TABLES, WRITE};
use super::spec::{PlainModel, Spec};
use crate::knowledge::Slot;
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
    let body = match spec.cards_of(Slot::Draw).filter(|_| reading.takes(Slot::Draw)) {
        Some(card) if reading.has_positions() => format!("{OPENING_POSITIONS}{card}return s\n"),
        Some(card) => format!("{OPENING}{card}return s\n"),
        None => script
            .lines()
            .filter(|line| !is_given(line))
            .map(|line| if line.starts_with("s.to_csv(") { "return s" } else { line })
            .fold(String::new(), |body, line| body + line + "\n"),
    };
    let predict = format!("def predict({arguments}):\n{}", indented(&body));
    let held_out = if reading.has_positions() { HELD_OUT_POSITIONS } else { HELD_OUT };
    [load, predict, format!("{}{held_out}_folds = []\n{WRITE}", of_cells(reading))]
}

/// What a snippet finds: all but the target where the answers are of positions, which it reads
/// itself.
const OPENING: &str = "t = a.columns.difference(b.columns)[0]
a = a.copy()
y = a.pop(t)
n = len(a)
x = pd.concat([a, b]).drop(columns=s.columns[0]).reset_index(drop=True)
";

const OPENING_POSITIONS: &str = "t = list(s.columns[1:])
n = len(a)
x = pd.concat([a, b]).drop(columns=b.columns[0]).reset_index(drop=True)
";

const HELD_OUT: &str = "t = a.columns.difference(b.columns)[0]
_c = s.columns[1] if s.shape[1] == 2 else list(s.columns[1:])
_h = np.arange(len(a)) % 4 == 3
_f, _r = a[~_h].reset_index(drop=True), a[_h].reset_index(drop=True)
_q = s.iloc[[0] * len(_r)].reset_index(drop=True)
_q[s.columns[0]] = _r[s.columns[0]].values
_q = predict(_f, _r.drop(columns=t), _q)
_metric = _score(_r[t].values, _q[_c].values)
s = predict(a, b, s)
";

const HELD_OUT_POSITIONS: &str = "t = list(s.columns[1:])
_i, _k = y.columns[:2]
_h = np.arange(len(a)) % 4 == 3
_f, _r = a[~_h].reset_index(drop=True), a[_h].reset_index(drop=True)
_v = y[y[_i].isin(_r[_i])].reset_index(drop=True)
_w = y[y[_i].isin(_f[_i])].reset_index(drop=True)
_q = _v[t].copy()
_q.insert(0, s.columns[0], _v[_i].astype(str) + \"_\" + _v[_k].astype(str))
_q[t] = s[t].iloc[0].values
_q = predict(_f, _r, _w, _q)
_metric = _score(_v[t].values, _q[t].values)
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
    if reading.form == Form::Quantiles {
        // A card draws them, from the tables as they are.
        return TABLES.to_owned();
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
