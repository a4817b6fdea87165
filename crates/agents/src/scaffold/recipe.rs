//! The Python that scripted agents write.
//!
//! Short on purpose: a policy of a few million parameters learns these scripts token by token.
//! Column names are read from the files rather than written down, as such a policy copies a name
//! it never saw only with luck, and a script that fits every task is the better script anyway.

use super::challenges;
use super::facts::Facts;
use super::items::ItemKind;
use super::positions;
use super::scenes;
use super::scripted::{ScriptStyle, ScriptedLevel};
use rand::Rng;
use rand::seq::IndexedRandom;
use std::fmt::Write as _;
use tasks::prediction::Prediction;
use tasks::task::Formulation;

/// Submits the sample submission.
const SAMPLE: &str = "import pandas as pd\n\
                      s = pd.read_csv(\"input/sample_submission.csv\")\n\
                      s.to_csv(\"submission.csv\", index=False)";

/// An approach with its free choices made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Recipe {
    pub(crate) approach: ScriptedLevel,
    /// Penalty of a ridge regression, and its inverse for a logistic one.
    pub(crate) strength: &'static str,
    /// Trees of the forest.
    pub(crate) trees: u32,
    /// Fewest rows in a leaf.
    pub(crate) leaf: u32,
    /// Constructed columns that are kept.
    pub(crate) keep: u32,
}

impl Recipe {
    pub(super) fn draw(approach: ScriptedLevel, rng: &mut impl Rng) -> Self {
        Self {
            approach,
            strength: ["0.1", "1", "10"].choose(rng).copied().unwrap_or("1"),
            trees: [30, 60].choose(rng).copied().unwrap_or(60),
            leaf: [1, 2, 4].choose(rng).copied().unwrap_or(1),
            keep: [10, 20, 40].choose(rng).copied().unwrap_or(20),
        }
    }

    /// The script for a task whose rows have these items, if any.
    pub(super) fn code(&self, facts: &Facts, style: ScriptStyle, item: Option<ItemKind>) -> String {
        // What the factory records of the hidden rule is written in terms of its own readings.
        let is_own = style == ScriptStyle::Demonstration && self.approach != ScriptedLevel::Oracle;
        let item = item.filter(|_| is_own);
        let oracle = &facts.scripts.oracle;
        let Some(prediction) = &facts.prediction else { return SAMPLE.to_owned() };
        let shape = TargetKind::from_prediction(prediction)
            .filter(|_| self.approach != ScriptedLevel::Constant);
        let Some(shape) = shape else {
            let scene = scenes::script(self, prediction, &oracle.code);
            let text =
                || challenges::script(self.approach, facts.formulation, prediction, &oracle.code);
            return scene.or_else(text).unwrap_or_else(|| SAMPLE.to_owned());
        };
        if facts.formulation == Some(Formulation::Positions) {
            return positions::script(self.approach, shape.classifies(), &oracle.code);
        }
        let mut code = String::from("import pandas as pd\n");
        let searches = matches!(self.approach, ScriptedLevel::Operators | ScriptedLevel::Oracle);
        if searches || matches!(shape, TargetKind::Flags | TargetKind::Quantiles) || item.is_some()
        {
            code.push_str("import numpy as np\n");
        }
        code.push_str(&self.imports(shape));
        code.push_str(
            "a = pd.read_csv(\"input/train.csv\")\n\
             b = pd.read_csv(\"input/test.csv\")\n\
             s = pd.read_csv(\"input/sample_submission.csv\")\n",
        );
        match (prediction, facts.labelled) {
            (Prediction::Numbers { .. } | Prediction::Probabilities { .. }, _) => {
                code.push_str("t = list(s.columns[1:])\ny = a[t]\na = a.drop(columns=t)\n");
            }
            (Prediction::Flags { .. }, _) => code
                .push_str("t = s.columns[1]\ny = a.pop(t).fillna(\"\").str.get_dummies(\" \")\n"),
            // What stands before the first dot of a file's name.
            (_, Some(named)) => {
                let _ = writeln!(
                    code,
                    "t = s.columns[1]\ny = a[a.columns[{named}]].str.extract(\"([^/.]*)[.][^/]*$\")[0]"
                );
            }
            _ => code.push_str("t = a.columns.difference(b.columns)[0]\ny = a.pop(t)\n"),
        }
        code.push_str("n = len(a)\n");
        let dropped = match prediction {
            // The query stands behind the id.
            Prediction::Relevance { .. } if is_own => "a.columns[:2]".to_owned(),
            Prediction::Relevance { query, .. } => format!("[s.columns[0], {query:?}]"),
            _ => "s.columns[0]".to_owned(),
        };
        let _ =
            writeln!(code, "x = pd.concat([a, b]).drop(columns={dropped}).reset_index(drop=True)");
        if is_own {
            code.push_str(&item.map(ItemKind::reading).unwrap_or_default());
        } else {
            code.push_str(&self.recorded(facts.scripts.reader.as_deref()));
        }
        if self.constructs(shape) {
            code.push_str(&self.constructed_columns(facts.formulation, shape));
        }
        if self.approach == ScriptedLevel::Oracle {
            code.push_str(&oracle.code);
        }
        if !self.constructs(shape) {
            let _ = write!(
                code,
                "x = pd.get_dummies(x, dtype=float)\n\
                 x = {}\n\
                 x = x.fillna(x.median())\n",
                varying("x"),
            );
        }
        if shape == TargetKind::Quantiles && self.approach == ScriptedLevel::Oracle {
            // The terms of the spread, apart from those of the middle.
            code.push_str("g = x.filter(regex=\"^s\")\nx = x.drop(columns=g)\n");
        }
        let _ = writeln!(code, "m = {}", self.model(shape));
        code.push_str("m.fit(x[:n], y)\n");
        if shape == TargetKind::Quantiles {
            return code + &self.quantiles(oracle.logarithmic);
        }
        code.push_str(match prediction {
            Prediction::Probability { .. } => "s[t] = m.predict_proba(x[n:])[:, 1]\n",
            Prediction::ClassProbabilities { .. } => "s[s.columns[1:]] = m.predict_proba(x[n:])\n",
            Prediction::Probabilities { .. } => {
                "s[t] = np.column_stack([p[:, 1] for p in m.predict_proba(x[n:])])\n"
            }
            Prediction::Flags { .. } => {
                "s[t] = [\" \".join(y.columns[r > 0]) for r in m.predict(x[n:])]\n"
            }
            // No extrapolation: beyond the known range some metrics are not even defined.
            Prediction::Number { .. } | Prediction::Numbers { .. }
                if self.approach == ScriptedLevel::Operators =>
            {
                "s[t] = np.clip(m.predict(x[n:]), y.values.min(0), y.values.max(0))\n"
            }
            _ => "s[t] = m.predict(x[n:])\n",
        });
        if self.approach == ScriptedLevel::Oracle && oracle.logarithmic {
            code.push_str("s[t] = np.exp(s[t])\n");
        }
        code.push_str("s.to_csv(\"submission.csv\", index=False)");
        code
    }

    /// Numbers read from the rows' items, where the task's maker recorded how: plain ones for a
    /// linear model, generic ones for trees. The oracle's own code reads what it needs.
    fn recorded(&self, reader: Option<&str>) -> String {
        let Some(reader) = reader else { return String::new() };
        let kind = match self.approach {
            ScriptedLevel::Linear => 0,
            ScriptedLevel::Oracle => return format!("{}\n", reader.trim_end()),
            _ => 1,
        };
        format!(
            "{}\nx = x.join(pd.DataFrame([read(i)[{kind}] for i in items(x)]).add_prefix(\"r\"))\n",
            reader.trim_end()
        )
    }

    /// Whether it looks for products and ratios of columns. Not where quantiles are asked for: of many
    /// noisy rows, the best of thousands of columns are those that fit the noise.
    fn constructs(&self, shape: TargetKind) -> bool {
        self.approach == ScriptedLevel::Operators && shape != TargetKind::Quantiles
    }

    /// What the model is put together from, module by module.
    fn imports(&self, shape: TargetKind) -> String {
        let (kind, select, linear) = if shape.classifies() {
            ("Classifier", "f_classif", "LogisticRegression")
        } else {
            ("Regressor", "f_regression", "Ridge")
        };
        let votes = self.approach == ScriptedLevel::Operators;
        let has_forest = votes || self.approach == ScriptedLevel::Forest;
        let has_line =
            votes || matches!(self.approach, ScriptedLevel::Linear | ScriptedLevel::Oracle);
        // Forests and ridge regressions predict several targets by themselves, the others one.
        let is_wrapped =
            if votes { shape.is_several() } else { has_line && shape == TargetKind::Flags };
        let forest = Self::ensemble(shape);
        let ensemble = if votes { format!("{forest}, Voting{kind}") } else { forest.to_owned() };
        [
            (has_forest, "ensemble", ensemble.as_str()),
            (self.constructs(shape), "feature_selection", select),
            (has_line, "linear_model", linear),
            (shape == TargetKind::Quantiles, "model_selection", "cross_val_predict"),
            (is_wrapped, "multioutput", &format!("MultiOutput{kind}")),
            (has_line, "pipeline", "make_pipeline"),
            (has_line, "preprocessing", "StandardScaler"),
        ]
        .into_iter()
        .filter(|(is_used, ..)| *is_used)
        .flat_map(|(_, module, names)| ["from sklearn.", module, " import ", names, "\n"])
        .collect()
    }

    /// Adds to the middles of the model `m` the quantiles of what it leaves of rows that it has not
    /// seen. Forests fit each row's width too, and the oracle a line to the terms of its rule; the
    /// quantiles are then in units of the width.
    fn quantiles(&self, logarithmic: bool) -> String {
        let mut code =
            String::from("p = m.predict(x[n:])\ne = y - cross_val_predict(m, x[:n], y)\n");
        let is_oracle = self.approach == ScriptedLevel::Oracle;
        let widths = match self.approach {
            ScriptedLevel::Oracle => Some((linear(TargetKind::Quantiles, self.strength), "g")),
            ScriptedLevel::Forest | ScriptedLevel::Operators => {
                let forest = format!(
                    "RandomForestRegressor({}, min_samples_leaf=10, random_state=0)",
                    self.trees
                );
                Some((forest, "x"))
            }
            _ => None,
        };
        if let Some((model, of)) = &widths {
            let _ = write!(
                code,
                "h = {model}\n\
                 d = np.log(abs(e) + 0.1 * e.std())\n\
                 w = np.exp(cross_val_predict(h, {of}[:n], d))\n\
                 u = np.exp(h.fit({of}[:n], d).predict({of}[n:]))\n",
            );
        }
        let value = match widths {
            Some(_) => "p + u * np.quantile(e / w, q)",
            None => "p + np.quantile(e, q)",
        };
        let value =
            if is_oracle && logarithmic { format!("np.exp({value})") } else { value.to_owned() };
        let _ = write!(
            code,
            "for c, q in zip(s.columns[1:], [0.1, 0.5, 0.9]):\n    s[c] = {value}\n\
             s.to_csv(\"submission.csv\", index=False)",
        );
        code
    }

    /// The class of the forest.
    fn ensemble(shape: TargetKind) -> &'static str {
        if shape.classifies() { "RandomForestClassifier" } else { "RandomForestRegressor" }
    }

    fn model(&self, shape: TargetKind) -> String {
        match self.approach {
            ScriptedLevel::Linear | ScriptedLevel::Oracle => {
                let one = linear(shape, self.strength);
                if shape == TargetKind::Flags {
                    format!("MultiOutputClassifier({one})")
                } else {
                    one
                }
            }
            ScriptedLevel::Operators => self.vote(shape),
            ScriptedLevel::Constant | ScriptedLevel::Forest => self.forest(shape),
        }
    }

    fn forest(&self, shape: TargetKind) -> String {
        let Self { trees, leaf, .. } = self;
        let ensemble = Self::ensemble(shape);
        format!("{ensemble}({trees}, min_samples_leaf={leaf}, random_state=0)")
    }

    /// A linear model and a forest, averaged: the one is good at the terms that the search found,
    /// the other at those it missed. Many columns on few rows want a strong penalty. One choice
    /// of trees for all tasks, because small policies import one and use another.
    fn vote(&self, shape: TargetKind) -> String {
        let (kind, soft, penalty) = if shape.classifies() {
            ("Classifier", ", voting=\"soft\"", "0.1")
        } else {
            ("Regressor", "", "10")
        };
        let (linear, forest) = (linear(shape, penalty), self.forest(shape));
        let vote = format!("Voting{kind}([(\"l\", {linear}), (\"f\", {forest})]{soft})");
        if shape.is_several() { format!("MultiOutput{kind}({vote})") } else { vote }
    }

    /// Products, squares and ratios over all pairs of the 30 columns with the fewest zeros, lags
    /// first where rows are ordered in time; the most informative columns are kept. Rare words are
    /// left out, because the pairs of hundreds of them take seconds and say nothing. A constant column has no
    /// F value and sorts last.
    fn constructed_columns(&self, formulation: Option<Formulation>, shape: TargetKind) -> String {
        let select = if shape.classifies() { "f_classif" } else { "f_regression" };
        let rank = match shape {
            TargetKind::Number | TargetKind::Class | TargetKind::Quantiles => {
                format!("{select}(f[:n], y)[0]")
            }
            TargetKind::Numbers | TargetKind::Flags => {
                format!("np.nansum([{select}(f[:n], y[c])[0] for c in y], 0)")
            }
        };
        let mut code = String::new();
        if formulation == Some(Formulation::Forecasting) {
            code.push_str(
                "for c in list(x.select_dtypes(\"number\")):\n    \
                 for k in [1, 2, 3]:\n        \
                 x[c + str(k)] = x.groupby(x.columns[0])[c].shift(k)\n",
            );
        }
        let _ = write!(
            code,
            "v = pd.get_dummies(x, dtype=float)\n\
             v = {varying}\n\
             v = v.fillna(v.median())\n\
             g = v[(v != 0).sum().nlargest(30).index]\n\
             z = (g - g.mean()) / (g.std() + 0.001)\n\
             i, j = np.triu_indices(g.shape[1])\n\
             p, q = g.values[:, i], g.values[:, j]\n\
             f = [z.values[:, i] * z.values[:, j], p * q, p / (abs(q) + 0.1), q / (abs(p) + 0.1)]\n\
             f = np.hstack(f)\n\
             r = np.argsort(-{rank})\n\
             x = np.hstack([v, f[:, r[:{keep}]]])\n",
            keep = self.keep,
            varying = varying("v"),
        );
        code
    }
}

/// What a model has to predict for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetKind {
    Number,
    Class,
    Numbers,
    Quantiles,
    Flags,
}

impl TargetKind {
    pub(super) fn from_prediction(prediction: &Prediction) -> Option<Self> {
        match prediction {
            Prediction::Number { .. } | Prediction::Relevance { .. } => Some(Self::Number),
            Prediction::Probability { .. }
            | Prediction::Label { .. }
            | Prediction::ClassProbabilities { .. } => Some(Self::Class),
            Prediction::Numbers { .. } => Some(Self::Numbers),
            Prediction::Quantiles { .. } => Some(Self::Quantiles),
            Prediction::Probabilities { .. } | Prediction::Flags { .. } => Some(Self::Flags),
            Prediction::Mask { .. }
            | Prediction::Boxes { .. }
            | Prediction::Pixels { .. }
            | Prediction::Text { .. }
            | Prediction::Ids { .. } => None,
        }
    }

    fn classifies(self) -> bool {
        matches!(self, Self::Class | Self::Flags)
    }

    fn is_several(self) -> bool {
        matches!(self, Self::Numbers | Self::Flags)
    }
}

/// The columns of a frame that differ among the test rows. A code of a group that only training
/// rows have is the same in each of them, and a model that leans on it learns nothing for them.
fn varying(frame: &str) -> String {
    format!("{frame}.loc[:, {frame}[n:].nunique() > 1]")
}

/// A linear model of one target on columns of one scale; `strength` as in [`Recipe::strength`].
fn linear(shape: TargetKind, strength: &str) -> String {
    if shape.classifies() {
        format!("make_pipeline(StandardScaler(), LogisticRegression(C={strength}, max_iter=500))")
    } else {
        format!("make_pipeline(StandardScaler(), Ridge({strength}))")
    }
}
