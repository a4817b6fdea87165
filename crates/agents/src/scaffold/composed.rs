//! Scripts that are put together from parts: feature steps, a transform of the target, one to three
//! models whose predictions are averaged, each with settings of its own.
//!
//! The parts are drawn at random and weakly, for a policy to learn each of them and to put them
//! together better. Every part is a few lines that stand for themselves, imports included, so that
//! any sequence of parts is a script. There are some ten thousand combinations, so that
//! demonstrations are few of them, and a policy can only say more than them by heart if it learns
//! parts. What the strongest scripted agent puts together is never demonstrated: columns made of
//! pairs, a linear model and an ensemble of trees ([`Composition::is_shown`]). Any two of the three
//! are.

use super::recipe::TargetKind;
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt};
use std::fmt::Write as _;
use tasks::prediction::Prediction;

/// Reads the tables into `x`, at most 40 columns of numbers without gaps, and `y`. Words that are
/// rare have no column: hundreds of them took most of the time of all scripts. `k` names the first
/// columns that were numbers from the start, of which pairs are made.
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
x = x[(x != 0).sum().nlargest(40).index]
x = x.fillna(x.median())
k = [i for i in a.select_dtypes(\"number\") if i in x][:20]
";

/// What counts are drawn from: of columns, trees, neighbours, rows in a leaf.
const COUNTS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// A penalty as a ridge regression takes it, and as a logistic one does: its inverse.
type Penalty = (&'static str, &'static str);

/// Most of them are too strong.
const PENALTIES: [Penalty; 7] = [
    ("0.1", "10"),
    ("1", "1"),
    ("10", "0.1"),
    ("100", "0.01"),
    ("1000", "0.001"),
    ("10000", "0.0001"),
    ("100000", "0.00001"),
];

/// New columns from old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feature {
    Ranks,
    Logs,
    Squares,
    /// Columns cut into so many intervals of the same width.
    Bins(u32),
    /// So many principal components.
    Components(u32),
    /// Distances to so many centres of clusters.
    Clusters(u32),
    /// The products of two columns that go best with the target, so many of them.
    Products(u32),
    /// The same of ratios.
    Ratios(u32),
    /// So many columns that go best with the target, and no others.
    Best(u32),
}

impl Feature {
    /// One of each kind, with settings of all strengths.
    fn all(rng: &mut impl Rng) -> [Self; 9] {
        let mut count = || COUNTS[rng.random_range(0..6)];
        [
            Self::Ranks,
            Self::Logs,
            Self::Squares,
            Self::Bins(1 + count()),
            Self::Components(count()),
            Self::Clusters(count()),
            Self::Products(count()),
            Self::Ratios(count()),
            Self::Best(count()),
        ]
    }

    fn is_of_pairs(self) -> bool {
        matches!(self, Self::Products(_) | Self::Ratios(_))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Ranks => "ranks",
            Self::Logs => "logs",
            Self::Squares => "squares",
            Self::Bins(_) => "bins",
            Self::Components(_) => "components",
            Self::Clusters(_) => "clusters",
            Self::Products(_) => "products",
            Self::Ratios(_) => "ratios",
            Self::Best(_) => "the best columns",
        }
    }

    fn code(self, classifies: bool) -> String {
        let pairs = |chosen: &str, made: &str, kept: u32| {
            format!(
                "from itertools import {chosen}\n\
                 p = pd.DataFrame({{i + j: {made} for i, j in {chosen}(k, 2)}})\n\
                 c = p[:n].corrwith(pd.Series(pd.factorize(y, sort=True)[0])).abs()\n\
                 x = x.join(p[c.nlargest({kept}).index], rsuffix=\"_p\")\n"
            )
        };
        let fitted = |module: &str, made: &str| {
            let name = made.split('(').next().unwrap_or(made);
            format!(
                "from sklearn.{module} import {name}\n\
                 p = pd.DataFrame({made}.fit_transform(x / (x.std() + 0.001)))\n\
                 x = x.join(p.add_prefix(\"{name}\"))\n"
            )
        };
        match self {
            Self::Ranks => "x = x.join(x.rank(pct=True), rsuffix=\"_r\")\n".into(),
            Self::Logs => "x = x.join(np.log1p(abs(x)), rsuffix=\"_l\")\n".into(),
            Self::Squares => "x = x.join(np.square(x), rsuffix=\"_s\")\n".into(),
            Self::Bins(count) => format!(
                "p = x.apply(lambda c: pd.cut(c, {count}, labels=False))\n\
                 x = x.join(p, rsuffix=\"_b\")\n"
            ),
            Self::Components(count) => {
                fitted("decomposition", &format!("PCA(min({count}, x.shape[1]), random_state=0)"))
            }
            Self::Clusters(count) => {
                fitted("cluster", &format!("KMeans({count}, n_init=1, random_state=0)"))
            }
            Self::Products(kept) => {
                let products = pairs("combinations", "x[i] * x[j]", kept);
                format!("x = (x - x.mean()) / (x.std() + 0.001)\n{products}")
            }
            Self::Ratios(kept) => pairs("permutations", "x[i] / (abs(x[j]) + 0.1)", kept),
            Self::Best(kept) => {
                let test = if classifies { "f_classif" } else { "f_regression" };
                format!(
                    "from sklearn.feature_selection import SelectKBest, {test}\n\
                     p = SelectKBest({test}, k=min({kept}, x.shape[1])).fit(x[:n], y)\n\
                     x = x.loc[:, p.get_support()]\n\
                     k = [i for i in k if i in x]\n"
                )
            }
        }
    }
}

/// A model with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    /// A ridge or logistic regression, with its penalty.
    Line(Penalty),
    /// The same on splines of every column with so many knots.
    Splines(u32, Penalty),
    /// The same on so many components of a radial kernel.
    Kernel(u32, Penalty),
    /// The mean of so many neighbours.
    Neighbours(u32),
    /// Trees, and the fewest rows in a leaf.
    Forest(u32, u32),
    ExtraTrees(u32, u32),
    /// Trees of boosting in all, and their rate.
    Boosting(u32, &'static str),
}

impl Model {
    /// One of each kind, with settings of all strengths, most of them weak.
    fn all(rng: &mut impl Rng) -> [Self; 7] {
        let mut count = || COUNTS[rng.random_range(0..COUNTS.len())];
        let (components, neighbours) = (count(), count());
        let (trees, leaf, extra_trees, extra_leaf) = (count(), count(), count(), count());
        let boosted = count();
        // More knots than a tenth of the rows take seconds, and are not better.
        let knots = 1 + COUNTS[rng.random_range(0..5)];
        let mut penalty = || PENALTIES[rng.random_range(0..PENALTIES.len())];
        [
            Self::Line(penalty()),
            Self::Splines(knots, penalty()),
            Self::Kernel(components, penalty()),
            Self::Neighbours(neighbours),
            Self::Forest(trees, leaf),
            Self::ExtraTrees(extra_trees, extra_leaf),
            Self::Boosting(boosted, ["0.03", "0.1", "0.3"].choose(rng).copied().unwrap_or("0.1")),
        ]
    }

    /// Whether it is linear in columns or in functions of them.
    fn is_linear(self) -> bool {
        matches!(self, Self::Line(_) | Self::Splines(..) | Self::Kernel(..))
    }

    fn is_of_trees(self) -> bool {
        matches!(self, Self::Forest(..) | Self::ExtraTrees(..) | Self::Boosting(..))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Line(_) => "a line",
            Self::Splines(..) => "splines",
            Self::Kernel(..) => "a kernel",
            Self::Neighbours(_) => "neighbours",
            Self::Forest(..) => "a forest",
            Self::ExtraTrees(..) => "extra trees",
            Self::Boosting(..) => "boosting",
        }
    }

    /// The lines that make the model `m`.
    fn code(self, classifies: bool) -> String {
        let kind = if classifies { "Classifier" } else { "Regressor" };
        let scaled = |imports: &str, steps: &str| {
            format!(
                "{imports}from sklearn.pipeline import make_pipeline\n\
                 from sklearn.preprocessing import StandardScaler\n\
                 m = make_pipeline(StandardScaler(), {steps})\n"
            )
        };
        let linear = |import: &str, step: &str, (alpha, c): Penalty| {
            let (name, made) = if classifies {
                ("LogisticRegression", format!("LogisticRegression(C={c}, max_iter=200)"))
            } else {
                ("Ridge", format!("Ridge({alpha})"))
            };
            let imports = format!("from sklearn.linear_model import {name}\n{import}");
            scaled(&imports, &format!("{step}{made}"))
        };
        let ensemble = |name: &str, settings: String| {
            format!(
                "from sklearn.ensemble import {name}{kind}\n\
                 m = {name}{kind}({settings}, random_state=0)\n"
            )
        };
        match self {
            Self::Line(penalty) => linear("", "", penalty),
            Self::Splines(knots, penalty) => linear(
                "from sklearn.preprocessing import SplineTransformer\n",
                &format!("SplineTransformer({knots}), "),
                penalty,
            ),
            Self::Kernel(components, penalty) => linear(
                "from sklearn.kernel_approximation import Nystroem\n",
                &format!(
                    "Nystroem(gamma=0.5 / x.shape[1], n_components={components}, random_state=0), "
                ),
                penalty,
            ),
            Self::Neighbours(count) => {
                let name = format!("KNeighbors{kind}");
                scaled(
                    &format!("from sklearn.neighbors import {name}\n"),
                    &format!("{name}({count})"),
                )
            }
            Self::Forest(trees, leaf) => {
                ensemble("RandomForest", format!("{trees}, min_samples_leaf={leaf}"))
            }
            Self::ExtraTrees(trees, leaf) => {
                ensemble("ExtraTrees", format!("{trees}, min_samples_leaf={leaf}"))
            }
            Self::Boosting(trees, rate) => {
                // Every round has a tree for each class.
                let rounds = if classifies {
                    format!("1 + {trees} // y.nunique()")
                } else {
                    trees.to_string()
                };
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
    /// At least one; their predictions are averaged.
    models: Vec<Model>,
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

    /// Any parts, in any order.
    fn any(rng: &mut impl Rng) -> Self {
        let features = [0, 1, 1, 2, 2, 3].choose(rng).copied().unwrap_or(0);
        let models = [1, 2, 2, 3, 3].choose(rng).copied().unwrap_or(1);
        Self {
            features: Feature::all(rng).sample(rng, features).copied().collect(),
            logs_target: rng.random_bool(0.2),
            models: Model::all(rng).sample(rng, models).copied().collect(),
        }
    }

    /// Whether it may be demonstrated. What is not: columns of pairs with a linear model and an
    /// ensemble of trees.
    fn is_shown(&self) -> bool {
        let has = |is: fn(Model) -> bool| self.models.iter().any(|&model| is(model));
        let has_pairs = self.features.iter().any(|feature| feature.is_of_pairs());
        !(has_pairs && has(Model::is_linear) && has(Model::is_of_trees))
    }

    /// The plan in words: what comes before the script.
    pub(super) fn thought(&self) -> String {
        let mut parts: Vec<&str> = self.features.iter().map(|feature| feature.name()).collect();
        if self.logs_target {
            parts.push("the log of the target");
        }
        parts.extend(self.models.iter().map(|model| model.name()));
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
            code.push_str(&feature.code(classifies));
        }
        let logs = self.logs_target && !classifies;
        if logs {
            code.push_str("o = y.min()\ny = np.log1p(y - o)\n");
        }
        for (place, model) in self.models.iter().enumerate() {
            code.push_str(&model.code(classifies));
            let before = if place == 0 { "" } else { "q + " };
            let _ = write!(code, "m.fit(x[:n], y)\nq = {before}{predicted}\n");
        }
        let _ = writeln!(code, "p = q / {}", self.models.len());
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

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;
    use std::collections::BTreeSet;

    /// What the plan names, the target's logarithm aside.
    fn names(composition: &Composition) -> BTreeSet<&'static str> {
        let features = composition.features.iter().map(|feature| feature.name());
        features.chain(composition.models.iter().map(|model| model.name())).collect()
    }

    #[test]
    fn demonstrations_have_any_two_parts_but_not_the_strongest_three() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let shown: Vec<BTreeSet<&str>> =
            (0..20_000).map(|_| names(&Composition::draw(&mut rng))).collect();
        let all: BTreeSet<&str> = shown.iter().flatten().copied().collect();
        assert_eq!(all.len(), 16, "{all:?}");
        let pairs = ["products", "ratios"];
        let linear = ["a line", "splines", "a kernel"];
        let trees = ["a forest", "extra trees", "boosting"];
        for names in &shown {
            let has = |of: &[&str]| of.iter().any(|name| names.contains(name));
            assert!(!(has(&pairs) && has(&linear) && has(&trees)), "{names:?}");
        }
        for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
            let both = |names: &BTreeSet<&str>| names.contains(one) && names.contains(other);
            assert!(shown.iter().any(both), "{one} and {other}");
        }
    }

    #[test]
    fn demonstrations_are_few_of_the_combinations() {
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let draw = |rng: &mut _| names(&Composition::draw(rng));
        let demonstrated: BTreeSet<_> = (0..1000).map(|_| draw(&mut rng)).collect();
        let new = (0..1000).filter(|_| !demonstrated.contains(&draw(&mut rng))).count();
        assert!((200..700).contains(&new), "{new} of 1,000 draws are in none of 1,000 others");
    }

    #[test]
    fn scripts_are_their_parts_in_order() {
        let number = Prediction::Number { column: "y".into() };
        let label = Prediction::Label { column: "y".into(), classes: vec!["a".into(), "b".into()] };
        let [few, many] = [
            Composition {
                features: vec![Feature::Ranks, Feature::Products(5), Feature::Best(10)],
                logs_target: true,
                models: vec![Model::Line(PENALTIES[1]), Model::Forest(20, 2)],
            },
            Composition {
                features: vec![
                    Feature::Logs,
                    Feature::Squares,
                    Feature::Bins(8),
                    Feature::Components(5),
                    Feature::Clusters(6),
                    Feature::Ratios(20),
                ],
                logs_target: false,
                models: vec![
                    Model::Splines(5, PENALTIES[0]),
                    Model::Kernel(50, PENALTIES[1]),
                    Model::Neighbours(5),
                    Model::Boosting(20, "0.1"),
                ],
            },
        ];
        insta::assert_snapshot!(few.code(&number).unwrap());
        insta::assert_snapshot!(few.code(&label).unwrap());
        insta::assert_snapshot!(many.code(&label).unwrap());
        assert_eq!(few.code(&Prediction::Text { column: "y".into() }), None);
    }
}
