//! The Python that scripted agents write.
//!
//! Short on purpose: a policy of a few million parameters learns these scripts token by token.
//! Column names are read from the files rather than written down, as such a policy copies a name
//! it never saw only with luck, and a script that fits every task is the better script anyway.

use super::scripted::Approach;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};
use sandbox::task::{Formulation, Manifest, Prediction};
use std::fmt::Write as _;

/// An approach with its free choices made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recipe {
    approach: Approach,
    /// Inverse regularisation of the linear model.
    strength: &'static str,
    /// Trees of the forest.
    trees: u32,
    /// Fewest rows in a leaf.
    leaf: u32,
    /// Constructed columns that are kept.
    keep: u32,
    /// Whether the constructed columns go to a boosted ensemble instead of a forest.
    boosts: bool,
}

impl Recipe {
    pub(super) fn draw(approach: Approach, rng: &mut impl Rng) -> Self {
        Self {
            approach,
            strength: ["0.1", "1", "10"].choose(rng).copied().unwrap_or("1"),
            trees: [30, 60].choose(rng).copied().unwrap_or(60),
            leaf: [1, 2, 4].choose(rng).copied().unwrap_or(1),
            keep: [10, 20, 40].choose(rng).copied().unwrap_or(20),
            boosts: rng.random_bool(0.5),
        }
    }

    /// The script for a task.
    pub(super) fn code(&self, manifest: &Manifest) -> String {
        if self.approach == Approach::Constant {
            return "import pandas as pd\n\
                    s = pd.read_csv(\"input/sample_submission.csv\")\n\
                    s.to_csv(\"submission.csv\", index=False)"
                .to_owned();
        }
        let classifies =
            matches!(manifest.formulation, Formulation::Binary | Formulation::Multiclass);
        let mut code = String::from("import pandas as pd\n");
        if matches!(self.approach, Approach::Operators | Approach::Oracle) {
            code.push_str("import numpy as np\n");
        }
        code.push_str(&self.imports(classifies));
        code.push_str(
            "a = pd.read_csv(\"input/train.csv\")\n\
             b = pd.read_csv(\"input/test.csv\")\n\
             s = pd.read_csv(\"input/sample_submission.csv\")\n\
             t = a.columns.difference(b.columns)[0]\n\
             y = a.pop(t)\n\
             n = len(a)\n\
             x = pd.concat([a, b]).drop(columns=s.columns[0]).reset_index(drop=True)\n",
        );
        if self.approach == Approach::Operators {
            code.push_str(&self.constructed_columns(manifest.formulation, classifies));
        }
        if self.approach == Approach::Oracle {
            code.push_str(oracle(manifest).0);
        }
        if self.approach != Approach::Operators {
            code.push_str("x = pd.get_dummies(x, dtype=float)\nx = x.fillna(x.median())\n");
        }
        let _ = writeln!(code, "m = {}", self.model(classifies));
        code.push_str("m.fit(x[:n], y)\n");
        code.push_str(match &manifest.prediction {
            Prediction::Number { .. } | Prediction::Label { .. } => "s[t] = m.predict(x[n:])\n",
            Prediction::Probability { .. } => "s[t] = m.predict_proba(x[n:])[:, 1]\n",
            Prediction::ClassProbabilities { .. } => "s[s.columns[1:]] = m.predict_proba(x[n:])\n",
        });
        if self.approach == Approach::Oracle && oracle(manifest).1 {
            code.push_str("s[t] = np.exp(s[t])\n");
        }
        code.push_str("s.to_csv(\"submission.csv\", index=False)");
        code
    }

    fn imports(&self, classifies: bool) -> String {
        let (linear, select) = if classifies {
            ("LogisticRegression", "f_classif")
        } else {
            ("Ridge", "f_regression")
        };
        let ensemble = self.ensemble(classifies);
        match self.approach {
            Approach::Constant => String::new(),
            Approach::Linear | Approach::Oracle => format!(
                "from sklearn.linear_model import {linear}\n\
                 from sklearn.pipeline import make_pipeline\n\
                 from sklearn.preprocessing import StandardScaler\n"
            ),
            Approach::Forest => format!("from sklearn.ensemble import {ensemble}\n"),
            Approach::Operators => format!(
                "from sklearn.ensemble import {ensemble}\n\
                 from sklearn.feature_selection import {select}\n"
            ),
        }
    }

    /// The class of the tree ensemble.
    fn ensemble(&self, classifies: bool) -> &'static str {
        match (self.approach == Approach::Operators && self.boosts, classifies) {
            (true, true) => "GradientBoostingClassifier",
            (true, false) => "GradientBoostingRegressor",
            (false, true) => "RandomForestClassifier",
            (false, false) => "RandomForestRegressor",
        }
    }

    fn model(&self, classifies: bool) -> String {
        let Self { strength, trees, leaf, .. } = self;
        let ensemble = self.ensemble(classifies);
        match (self.approach, classifies) {
            (Approach::Linear | Approach::Oracle, true) => format!(
                "make_pipeline(StandardScaler(), LogisticRegression(C={strength}, max_iter=500))"
            ),
            (Approach::Linear | Approach::Oracle, false) => {
                format!("make_pipeline(StandardScaler(), Ridge({strength}))")
            }
            (Approach::Operators, _) if self.boosts => {
                format!("{ensemble}(n_estimators=50, subsample=0.7, random_state=0)")
            }
            _ => format!("{ensemble}({trees}, min_samples_leaf={leaf}, random_state=0)"),
        }
    }

    /// Products, squares and ratios over all pairs of columns, lags first where rows are ordered
    /// in time; the columns that tell most about the target are kept. A constant column has no
    /// F value and sorts last.
    fn constructed_columns(&self, formulation: Formulation, classifies: bool) -> String {
        let select = if classifies { "f_classif" } else { "f_regression" };
        let mut code = String::new();
        if formulation == Formulation::Forecasting {
            code.push_str(
                "for c in list(x.select_dtypes(\"number\")):\n    \
                 for k in [1, 2, 3]:\n        \
                 x[c + str(k)] = x.groupby(x.columns[0])[c].shift(k)\n",
            );
        }
        let _ = write!(
            code,
            "v = pd.get_dummies(x, dtype=float)\n\
             v = v.fillna(v.median())\n\
             z = (v - v.mean()) / (v.std() + 0.001)\n\
             i, j = np.triu_indices(v.shape[1])\n\
             p, q = v.values[:, i], v.values[:, j]\n\
             f = [z.values[:, i] * z.values[:, j], p * q, p / (abs(q) + 0.1), q / (abs(p) + 0.1)]\n\
             f = np.hstack(f)\n\
             r = np.argsort(-{select}(f[:n], y)[0])\n\
             x = np.hstack([v, f[:, r[:{keep}]]])\n",
            keep = self.keep,
        );
        code
    }
}

/// What the factory records about the hidden rule for the oracle alone: code that replaces the
/// columns by the rule's terms, and whether it also took the target's logarithm. Without a
/// record (tasks from elsewhere) the oracle is a linear model.
fn oracle(manifest: &Manifest) -> (&str, bool) {
    let record = &manifest.provenance["oracle"];
    let logarithmic = record["logarithmic"].as_bool().unwrap_or(false);
    (record["code"].as_str().unwrap_or_default(), logarithmic)
}
