//! Scripts that are put together from parts: feature steps, a transform of the target, one or two
//! models, each with settings of its own.
//!
//! The parts are drawn at random and weakly, for a policy to learn each of them and to put them
//! together better. Every part is a few lines that stand for themselves, imports included, so that
//! any sequence of parts is a script. What is likely to be strongest is never demonstrated: columns
//! made of pairs are shown with one simple model, and of models whose predictions are averaged both
//! are simple ([`Composition::is_shown`]).

use super::recipe::TargetKind;
use rand::seq::{IndexedRandom, IteratorRandom};
use rand::{Rng, RngExt};
use std::fmt::Write as _;
use tasks::prediction::Prediction;

/// Reads the tables into `x`, all numbers without gaps, and `y`. `k` names the first columns that
/// were numbers from the start, of which pairs are made: pairs of words' columns are thousands.
const READING: &str = "import pandas as pd
import numpy as np
a = pd.read_csv(\"input/train.csv\")
b = pd.read_csv(\"input/test.csv\")
s = pd.read_csv(\"input/sample_submission.csv\")
t = a.columns.difference(b.columns)[0]
y = a.pop(t)
n = len(a)
x = pd.concat([a, b]).drop(columns=s.columns[0]).reset_index(drop=True)
x = pd.get_dummies(x, dtype=float)
x = x.loc[:, x[n:].nunique() > 1]
x = x.fillna(x.median())
k = [i for i in a.select_dtypes(\"number\") if i in x][:20]
";

/// New columns from old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feature {
    Ranks,
    Logs,
    Squares,
    /// The products of two columns that go best with the target, so many of them.
    Products(u32),
    /// The same of ratios.
    Ratios(u32),
}

impl Feature {
    fn is_of_pairs(self) -> bool {
        matches!(self, Self::Products(_) | Self::Ratios(_))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ranks => "ranks",
            Self::Logs => "logs",
            Self::Squares => "squares",
            Self::Products(_) => "products",
            Self::Ratios(_) => "ratios",
        }
    }

    fn code(self) -> String {
        let pairs = |chosen: &str, made: &str, kept: u32| {
            format!(
                "from itertools import {chosen}\n\
                 p = pd.DataFrame({{i + j: {made} for i, j in {chosen}(k, 2)}})\n\
                 c = p[:n].corrwith(pd.Series(pd.factorize(y, sort=True)[0])).abs()\n\
                 x = x.join(p[c.nlargest({kept}).index], rsuffix=\"_p\")\n"
            )
        };
        match self {
            Self::Ranks => "x = x.join(x.rank(pct=True), rsuffix=\"_r\")\n".into(),
            Self::Logs => "x = x.join(np.log1p(abs(x)), rsuffix=\"_l\")\n".into(),
            Self::Squares => "x = x.join(x * x, rsuffix=\"_s\")\n".into(),
            Self::Products(kept) => {
                let products = pairs("combinations", "x[i] * x[j]", kept);
                format!("x = (x - x.mean()) / (x.std() + 0.001)\n{products}")
            }
            Self::Ratios(kept) => pairs("permutations", "x[i] / (abs(x[j]) + 0.1)", kept),
        }
    }
}

/// A model with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    /// A ridge or logistic regression, with the strength of its penalty or its inverse.
    Line(&'static str),
    /// The mean of so many neighbours.
    Neighbours(u32),
    /// Trees, and the fewest rows in a leaf.
    Forest(u32, u32),
    ExtraTrees(u32, u32),
    /// Rounds of boosting, and their rate.
    Boosting(u32, &'static str),
}

impl Model {
    fn is_simple(self) -> bool {
        matches!(self, Self::Line(_) | Self::Neighbours(_))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Line(_) => "a line",
            Self::Neighbours(_) => "neighbours",
            Self::Forest(..) => "a forest",
            Self::ExtraTrees(..) => "extra trees",
            Self::Boosting(..) => "boosting",
        }
    }

    /// The lines that make the model `m`.
    fn code(self, classifies: bool) -> String {
        let kind = if classifies { "Classifier" } else { "Regressor" };
        let scaled = |module: &str, name: &str, made: String| {
            format!(
                "from sklearn.{module} import {name}\n\
                 from sklearn.pipeline import make_pipeline\n\
                 from sklearn.preprocessing import StandardScaler\n\
                 m = make_pipeline(StandardScaler(), {made})\n"
            )
        };
        let ensemble = |name: &str, settings: String| {
            format!(
                "from sklearn.ensemble import {name}{kind}\n\
                 m = {name}{kind}({settings}, random_state=0)\n"
            )
        };
        match self {
            Self::Line(c) if classifies => scaled(
                "linear_model",
                "LogisticRegression",
                format!("LogisticRegression(C={c}, max_iter=500)"),
            ),
            Self::Line(alpha) => scaled("linear_model", "Ridge", format!("Ridge({alpha})")),
            Self::Neighbours(count) => {
                let name = format!("KNeighbors{kind}");
                scaled("neighbors", &name, format!("{name}({count})"))
            }
            Self::Forest(trees, leaf) => {
                ensemble("RandomForest", format!("{trees}, min_samples_leaf={leaf}"))
            }
            Self::ExtraTrees(trees, leaf) => {
                ensemble("ExtraTrees", format!("{trees}, min_samples_leaf={leaf}"))
            }
            Self::Boosting(rounds, rate) => {
                ensemble("HistGradientBoosting", format!("max_iter={rounds}, learning_rate={rate}"))
            }
        }
    }
}

/// The parts of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Composition {
    features: Vec<Feature>,
    /// Whether a number is predicted by its logarithm.
    logs_target: bool,
    model: Model,
    /// A second model, with which the first one's predictions are averaged.
    second: Option<Model>,
}

impl Composition {
    /// Parts to be demonstrated.
    pub(super) fn draw(rng: &mut impl Rng) -> Self {
        loop {
            let drawn = Self::any(rng);
            if drawn.is_shown() {
                return drawn;
            }
        }
    }

    /// Any parts.
    fn any(rng: &mut impl Rng) -> Self {
        let count = [0, 0, 1, 1, 1, 2].choose(rng).copied().unwrap_or(0);
        let kept = |rng: &mut _| [5, 10, 20].choose(rng).copied().unwrap_or(10);
        let all = [
            Feature::Ranks,
            Feature::Logs,
            Feature::Squares,
            Feature::Products(kept(rng)),
            Feature::Ratios(kept(rng)),
        ];
        let features = all.into_iter().sample(rng, count);
        Self {
            features,
            logs_target: rng.random_bool(0.2),
            model: model(rng),
            second: rng.random_bool(0.25).then(|| model(rng)),
        }
    }

    /// Whether it may be demonstrated. What is not: columns of pairs with an ensemble of trees or
    /// with two models, and an ensemble of trees as one of two models.
    fn is_shown(&self) -> bool {
        let pairs = self.features.iter().any(|feature| feature.is_of_pairs());
        match self.second {
            Some(second) => !pairs && self.model.is_simple() && second.is_simple(),
            None => !pairs || self.model.is_simple(),
        }
    }

    /// The plan in words: what comes before the script.
    pub(super) fn thought(&self) -> String {
        let mut parts: Vec<&str> = self.features.iter().map(|feature| feature.name()).collect();
        if self.logs_target {
            parts.push("the log of the target");
        }
        parts.push(self.model.name());
        parts.extend(self.second.map(Model::name));
        format!("Plan: {}.", parts.join(", "))
    }

    /// The script for a task with this prediction; none where it is no number and no class of each
    /// row.
    pub(super) fn code(&self, prediction: &Prediction) -> Option<String> {
        let classifies = match TargetKind::from_prediction(prediction)? {
            TargetKind::Number => false,
            TargetKind::Class => true,
            _ => return None,
        };
        let predicted = match prediction {
            Prediction::Number { .. } => "m.predict(x[n:])",
            Prediction::Probability { .. } => "m.predict_proba(x[n:])[:, 1]",
            Prediction::Label { .. } | Prediction::ClassProbabilities { .. } => {
                "m.predict_proba(x[n:])"
            }
            _ => return None,
        };
        let mut code = READING.to_owned();
        for feature in &self.features {
            code.push_str(&feature.code());
        }
        let logs = self.logs_target && !classifies;
        if logs {
            code.push_str("o = y.min()\ny = np.log1p(y - o)\n");
        }
        code.push_str(&self.model.code(classifies));
        let _ = write!(code, "m.fit(x[:n], y)\np = {predicted}\n");
        if let Some(second) = self.second {
            code.push_str(&second.code(classifies));
            let _ = write!(code, "m.fit(x[:n], y)\np = (p + {predicted}) / 2\n");
        }
        if logs {
            code.push_str("p = np.expm1(p) + o\n");
        }
        code.push_str(match prediction {
            Prediction::Label { .. } => "s[t] = m.classes_[p.argmax(1)]\n",
            Prediction::ClassProbabilities { .. } => "s[s.columns[1:]] = p\n",
            _ => "s[t] = p\n",
        });
        code.push_str("s.to_csv(\"submission.csv\", index=False)");
        Some(code)
    }
}

/// A model with settings of all strengths, none of them large.
fn model(rng: &mut impl Rng) -> Model {
    let strength = ["0.01", "0.1", "1", "10", "100"].choose(rng).copied().unwrap_or("1");
    let trees = [10, 20, 40].choose(rng).copied().unwrap_or(20);
    let leaf = [1, 2, 4, 8].choose(rng).copied().unwrap_or(2);
    let rounds = [10, 20, 40].choose(rng).copied().unwrap_or(20);
    let rate = ["0.03", "0.1", "0.3"].choose(rng).copied().unwrap_or("0.1");
    let neighbours = [3, 5, 10, 20].choose(rng).copied().unwrap_or(5);
    let all = [
        Model::Line(strength),
        Model::Neighbours(neighbours),
        Model::Forest(trees, leaf),
        Model::ExtraTrees(trees, leaf),
        Model::Boosting(rounds, rate),
    ];
    all.choose(rng).copied().unwrap_or(Model::Line("1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use std::collections::BTreeSet;

    #[test]
    fn demonstrations_have_all_parts_but_not_the_strongest_together() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let shown: Vec<Composition> = (0..2000).map(|_| Composition::draw(&mut rng)).collect();
        let names: BTreeSet<&str> = shown
            .iter()
            .flat_map(|drawn| {
                let models = [Some(drawn.model), drawn.second].into_iter().flatten();
                let features = drawn.features.iter().map(|feature| feature.name());
                features.chain(models.map(Model::name)).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(names.len(), 10, "{names:?}");
        let plans: BTreeSet<String> = shown.iter().map(Composition::thought).collect();
        for plan in &plans {
            let pairs = plan.contains("products") || plan.contains("ratios");
            let trees = ["forest", "trees", "boosting"].iter().any(|word| plan.contains(word));
            let models = ["a line", "neighbours", "a forest", "extra trees", "boosting"];
            let count: usize = models.iter().map(|model| plan.matches(model).count()).sum();
            assert!(!(trees && (pairs || count > 1)) && !(pairs && count > 1), "{plan}");
        }
        let shown =
            ["Plan: products, a line.", "Plan: a line, neighbours.", "Plan: ranks, boosting."];
        for plan in shown {
            assert!(plans.contains(plan), "{plan}");
        }
    }

    #[test]
    fn scripts_are_their_parts_in_order() {
        let composition = Composition {
            features: vec![Feature::Ranks, Feature::Products(5)],
            logs_target: true,
            model: Model::Line("1"),
            second: Some(Model::Forest(20, 2)),
        };
        let number = Prediction::Number { column: "y".into() };
        insta::assert_snapshot!(composition.code(&number).unwrap());
        let classes = vec!["a".into(), "b".into()];
        let label = Prediction::Label { column: "y".into(), classes };
        insta::assert_snapshot!(composition.code(&label).unwrap());
        assert_eq!(composition.code(&Prediction::Text { column: "y".into() }), None);
    }
}
