//! Episodes by approach: the combination of parts of the last script that ran to a finish.

use super::evidence::{AgentEpisodes, EpisodeFacts};
use super::learnt::Estimate;
use super::parts::Combination;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Combinations that have a row of their own; those that are rarer share one.
const SHOWN: usize = 10;

/// Parts in a label that are no models.
const LABEL_PARTS: usize = 4;

/// How an episode was solved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approach {
    /// By these parts. Without any, nothing but plumbing was called, as in a script that submits
    /// the sample.
    Combination(Combination),
    /// By one of the combinations that have no row of their own.
    Other {
        /// How many these are.
        combinations: usize,
    },
    /// No script ran to a finish.
    Unfinished,
}

/// The episodes of one approach.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproachRow {
    /// The approach in a few words, different from those of all other rows.
    pub label: String,
    /// The approach in full.
    pub approach: Approach,
    /// Among the demonstrations; `None` without any.
    pub demonstrations: Option<ApproachResult>,
    /// Among the episodes of each policy, in their order.
    pub policies: Vec<ApproachResult>,
}

/// The episodes of one approach and one agent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproachResult {
    /// Number of episodes.
    pub episodes: usize,
    /// Share of the agent's episodes, in [0, 1]; 0 without any.
    pub share: f64,
    /// Mean reward; `None` without episodes.
    pub reward: Option<Estimate>,
}

impl ApproachResult {
    fn new(all: &[EpisodeFacts], is_of: &dyn Fn(&EpisodeFacts) -> bool) -> Self {
        let own: Vec<&EpisodeFacts> = all.iter().filter(|episode| is_of(episode)).collect();
        Self {
            episodes: own.len(),
            share: own.len() as f64 / all.len().max(1) as f64,
            reward: Estimate::of_rewards(own),
        }
    }
}

/// A row per combination that is among the most frequent of any agent, the demonstrations being
/// one; then the others, and episodes without a combination.
pub(super) fn approaches(
    demonstrations: Option<&[EpisodeFacts]>,
    policies: &[AgentEpisodes],
) -> Vec<ApproachRow> {
    let agents = || demonstrations.into_iter().chain(policies.iter().map(|it| &it.episodes[..]));
    let row =
        |label: String, approach: Approach, is_of: &dyn Fn(&EpisodeFacts) -> bool| ApproachRow {
            label,
            approach,
            demonstrations: demonstrations.map(|all| ApproachResult::new(all, is_of)),
            policies: policies.iter().map(|it| ApproachResult::new(&it.episodes, is_of)).collect(),
        };
    let ranked = ranked(&agents().collect::<Vec<_>>());
    let (shown, rest) = ranked.split_at(ranked.len().min(SHOWN));
    let mut rows = Vec::new();
    for (combination, label) in shown.iter().zip(labels(shown)) {
        let is_of = |episode: &EpisodeFacts| episode.combination.as_ref() == Some(*combination);
        rows.push(row(label, Approach::Combination((*combination).clone()), &is_of));
    }
    if !rest.is_empty() {
        let is_of = |episode: &EpisodeFacts| {
            episode.combination.as_ref().is_some_and(|of| !shown.contains(&of))
        };
        let label = format!("other ({} combinations)", rest.len());
        rows.push(row(label, Approach::Other { combinations: rest.len() }, &is_of));
    }
    let is_unfinished = |episode: &EpisodeFacts| episode.combination.is_none();
    if agents().flatten().any(is_unfinished) {
        let label = "no script that finished".to_owned();
        rows.push(row(label, Approach::Unfinished, &is_unfinished));
    }
    rows
}

/// All combinations by the largest share that they have of any agent's episodes, then by name.
fn ranked<'a>(agents: &[&'a [EpisodeFacts]]) -> Vec<&'a Combination> {
    let mut largest: BTreeMap<&Combination, f64> = BTreeMap::new();
    for episodes in agents {
        let mut counts: BTreeMap<&Combination, usize> = BTreeMap::new();
        for combination in episodes.iter().filter_map(|episode| episode.combination.as_ref()) {
            *counts.entry(combination).or_default() += 1;
        }
        for (combination, count) in counts {
            let share = count as f64 / episodes.len() as f64;
            let largest = largest.entry(combination).or_default();
            *largest = largest.max(share);
        }
    }
    let mut ranked: Vec<(&Combination, f64)> = largest.into_iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.into_iter().map(|(combination, _)| combination).collect()
}

/// A label for each combination: its models, then those of its other parts that the fewest of the
/// combinations have. Where two would have the same label, they have all parts.
fn labels(combinations: &[&Combination]) -> Vec<String> {
    let holders = |part: &String| combinations.iter().filter(|of| of.contains(part)).count();
    let short: Vec<String> =
        combinations.iter().map(|of| label(of, &holders, LABEL_PARTS)).collect();
    let is_unique = |text: &String| short.iter().filter(|other| *other == text).count() == 1;
    let texts = short.iter().zip(combinations).map(|(text, of)| {
        if is_unique(text) { text.clone() } else { label(of, &holders, usize::MAX) }
    });
    texts.collect()
}

fn label(combination: &Combination, holders: &dyn Fn(&String) -> usize, most: usize) -> String {
    let (models, mut others): (Vec<&String>, Vec<&String>) =
        combination.iter().partition(|part| is_model(part));
    // The sort is stable: parts that as many combinations have stay in their order.
    others.sort_by_key(|part| holders(part));
    let hidden = others.len().saturating_sub(most);
    let join = |parts: &[&String], sign: &str| {
        parts.iter().map(|part| part.as_str()).collect::<Vec<_>>().join(sign)
    };
    let mut texts = Vec::new();
    texts.extend((!models.is_empty()).then(|| join(&models, " + ")));
    texts.extend((!others.is_empty()).then(|| join(&others[..others.len() - hidden], ", ")));
    let mut label = texts.join(": ");
    if combination.is_empty() {
        label.push_str("plumbing only");
    }
    if hidden > 0 {
        let _ = write!(label, ", {hidden} more");
    }
    label
}

/// Whether a part is called like a model that predicts: as scikit-learn names its own, and packages
/// for boosted trees name theirs after it.
fn is_model(part: &str) -> bool {
    const ENDINGS: [&str; 7] =
        ["Classifier", "Regressor", "Regression", "ClassifierCV", "RegressionCV", "SVC", "SVR"];
    const NAMES: [&str; 13] = [
        "BayesianRidge",
        "BernoulliNB",
        "ComplementNB",
        "ElasticNet",
        "ElasticNetCV",
        "GaussianNB",
        "Lasso",
        "LassoCV",
        "LinearDiscriminantAnalysis",
        "MultinomialNB",
        "QuadraticDiscriminantAnalysis",
        "Ridge",
        "RidgeCV",
    ];
    ENDINGS.iter().any(|ending| part.ends_with(ending)) || NAMES.contains(&part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combination(parts: &str) -> Combination {
        parts.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn labels_have_models_first_and_then_the_rarest_parts() {
        let [plain, more, empty] = [
            "Ridge StandardScaler fillna get_dummies median",
            "Ridge StandardScaler fillna get_dummies median argsort hstack",
            "",
        ]
        .map(combination);
        let found = labels(&[&plain, &more, &empty]);
        let expected = [
            "Ridge: StandardScaler, fillna, get_dummies, median",
            "Ridge: argsort, hstack, StandardScaler, fillna, 2 more",
            "plumbing only",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn labels_that_would_be_alike_have_all_parts() {
        let alike = ["c d e f g", "c d e f h", "g h"].map(combination);
        let found = labels(&[&alike[0], &alike[1], &alike[2]]);
        assert_eq!(found, ["c, d, e, f, g", "c, d, e, f, h", "g, h"]);
    }

    #[test]
    fn combinations_rank_by_the_largest_share_of_any_agent() {
        let episode = |parts: &str| EpisodeFacts {
            task: tasks::task::TaskId::new("t").unwrap(),
            reward: 0.0,
            is_evaluated: true,
            combination: Some(combination(parts)),
            scripts: 1,
            shared: None,
        };
        // b: 1 of 2; a: 2 of 5; c: 2 of 5; d: 1 of 5.
        let large = ["a", "a", "c", "c", "d"].map(episode);
        let small = [episode("b"), EpisodeFacts { combination: None, ..episode("") }];
        let ranked = ranked(&[&large, &small]);
        let names: Vec<&str> = ranked.iter().map(|of| of.first().unwrap().as_str()).collect();
        assert_eq!(names, ["b", "a", "c", "d"]);
    }
}
