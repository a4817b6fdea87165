//! Which entries of a base fit a task, with every term of their scores.
//!
//! ```text
//! d_i     cosine of the task's statement and the entry's text
//! t_i     sum over the hard labels that task and entry share of
//!             .8 cos(mean of the task's soft labels, mean of the entry's)
//!           + .2 mean over the task's soft labels of the largest similarity with one of the entry's
//! score   .2 d_i / max d + .8 t_i / max t; a largest value of 0 or less divides nothing
//! ```
//! The maxima are over all entries, excluded ones too. Source: AutoMind, section 3.1, and its release.
//!
//! Without vectors, two soft labels have the similarity 1 if they are the same, .5 if both stand below
//! one hard label of the tree, else their lexical cosine, k. The cosine of means is then
//! Σ k(a, b) / √(Σ k(a, a') · Σ k(b, b')), which for k = a·b is the cosine of the means of vectors. A
//! hard label without soft ones counts as .5 in both terms.

use super::base::{Entry, Knowledge};
use super::card::TrickId;
use super::embed::{EmbedError, Embedder, cosine, mean};
use super::exclusions::Exclusions;
use super::labels::TaskLabels;
use super::query::Query;
use super::record::TrickRecord;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Most tricks that stand ready for a task.
pub const MOST_READY: usize = 12;
/// Similarity of two soft labels below one hard label.
const SAME_HARD: f64 = 0.5;

/// Weights of a score.
///
/// | field | meaning | default |
/// | --- | --- | --- |
/// | `description` | of d, at least 0 | .2 |
/// | `labels` | of t, at least 0 | .8 |
/// | `mean` | of the cosine of means within t, at least 0 | .8 |
/// | `best` | of the best similarities within t, at least 0 | .2 |
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrievalSettings {
    /// Of d.
    pub description: f64,
    /// Of t.
    pub labels: f64,
    /// Of the cosine of means within t.
    pub mean: f64,
    /// Of the best similarities within t.
    pub best: f64,
}

impl Default for RetrievalSettings {
    fn default() -> Self {
        Self { description: 0.2, labels: 0.8, mean: 0.8, best: 0.2 }
    }
}

/// Entries by score, the best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ranked {
    /// All entries that are not excluded; equal scores in the order of names.
    pub entries: Vec<RankedEntry>,
}

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A trick.
    Trick,
    /// An imported post.
    Post,
}

/// An entry with the terms of its score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankedEntry {
    /// Its name.
    pub id: TrickId,
    /// What it is.
    pub kind: EntryKind,
    /// `description_part + labels_part`.
    pub score: f64,
    /// Cosine of the statement and its text, -1 to 1.
    pub d: f64,
    /// What d adds to the score.
    pub description_part: f64,
    /// Sum of the terms of `labels`.
    pub t: f64,
    /// What t adds to the score.
    pub labels_part: f64,
    /// A term for each hard label that it shares with the task, in the order of names.
    pub labels: Vec<LabelTerm>,
}

/// The term of one hard label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelTerm {
    /// The hard label.
    pub hard: String,
    /// Cosine of the means of soft labels.
    pub mean: f64,
    /// Mean over the task's soft labels of the largest similarity with one of the entry's.
    pub best: f64,
    /// Both, weighted.
    pub term: f64,
}

impl Ranked {
    /// The same ranking, with entries of equal scores in the order in which they helped in earlier runs
    /// on tasks with such labels, the best first.
    #[must_use]
    pub fn learned(mut self, record: &TrickRecord, labels: &TaskLabels) -> Self {
        let mean = |entry: &RankedEntry| record.posterior_mean(entry.id.as_str(), labels);
        self.entries
            .sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| mean(b).total_cmp(&mean(a))));
        self
    }

    /// The tricks that stand ready for the task: the best `most`, at most [`MOST_READY`], of those that
    /// share a hard label with it.
    pub fn ready(&self, base: &Knowledge, most: usize) -> Vec<TrickId> {
        let tricks = self.entries.iter().filter(|entry| entry.t > 0.0);
        let known = tricks.filter(|entry| base.trick(&entry.id).is_some());
        known.take(most.min(MOST_READY)).map(|entry| entry.id.clone()).collect()
    }
}

/// Ranks the entries of a base for a task. With the same answers of `embedder` the result is the same.
///
/// # Errors
/// [`EmbedError`]; never with the base's own [`Knowledge::lexical`].
///
/// # Examples
/// ```rust
/// use agents::knowledge::{Exclusions, Knowledge, Query, RetrievalSettings, retrieve};
///
/// let base = Knowledge::shipped();
/// let query = Query {
///     task: "yield".to_owned(),
///     statement: "Predict the yield of fields from a table.".to_owned(),
///     labels: ["General Machine Learning/Regression".parse()?].into_iter().collect(),
///     description: String::new(),
///     columns: [].into(),
/// };
/// let settings = RetrievalSettings::default();
/// let ranked = retrieve(base, &query, &Exclusions::default(), &settings, base.lexical())?;
/// assert!(ranked.ready(base, 12).len() <= 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn retrieve(
    base: &Knowledge,
    query: &Query,
    exclusions: &Exclusions,
    settings: &RetrievalSettings,
    embedder: &dyn Embedder,
) -> Result<Ranked, EmbedError> {
    let entries = base.entries();
    let texts: Vec<String> = entries.iter().map(Entry::text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let d = embedder.cosines(&query.statement, &texts)?;
    let all: Vec<TaskLabels> = entries.iter().map(Entry::labels).collect();
    let similarity = SoftSimilarity::new(base, query, &all, embedder)?;
    let terms: Vec<Vec<LabelTerm>> = all
        .iter()
        .map(|labels| label_terms(&query.labels, labels, &similarity, settings))
        .collect();
    let t: Vec<f64> = terms.iter().map(|terms| terms.iter().map(|term| term.term).sum()).collect();
    let (description, labels) = (scaled(&d, settings.description), scaled(&t, settings.labels));
    let mut ranked: Vec<RankedEntry> = entries
        .iter()
        .zip(terms)
        .enumerate()
        .map(|(at, (entry, terms))| RankedEntry {
            id: entry.id().clone(),
            kind: match entry {
                Entry::Trick(_) => EntryKind::Trick,
                Entry::Post(_) => EntryKind::Post,
            },
            score: description[at] + labels[at],
            d: d[at],
            description_part: description[at],
            t: t[at],
            labels_part: labels[at],
            labels: terms,
        })
        .filter(|entry| !exclusions.has(&entry.id))
        .collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
    Ok(Ranked { entries: ranked })
}

/// weight · x / max x; a largest value of 0 or less divides nothing.
fn scaled(values: &[f64], weight: f64) -> Vec<f64> {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let divisor = if most > 0.0 { most } else { 1.0 };
    values.iter().map(|value| weight * value / divisor).collect()
}

/// How alike two soft labels below one hard label are.
enum SoftSimilarity<'a> {
    /// By the tree, and by words.
    Tree(&'a Knowledge),
    /// By vectors of their names.
    Vectors(BTreeMap<String, Vec<f32>>),
}

impl<'a> SoftSimilarity<'a> {
    fn new(
        base: &'a Knowledge,
        query: &Query,
        entries: &[TaskLabels],
        embedder: &dyn Embedder,
    ) -> Result<Self, EmbedError> {
        if !embedder.compares_labels() {
            return Ok(Self::Tree(base));
        }
        let all = entries.iter().chain([&query.labels]).flat_map(TaskLabels::iter);
        let names: BTreeSet<&str> = all.flat_map(|(_, soft)| soft).map(String::as_str).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let vectors = embedder.embed(&names)?;
        let names = names.into_iter().map(str::to_owned);
        Ok(Self::Vectors(names.zip(vectors).collect()))
    }

    fn of_pair(&self, hard: &str, a: &str, b: &str) -> f64 {
        match self {
            _ if a == b => 1.0,
            Self::Tree(base) => {
                let soft = base.labels().soft(hard);
                let is_known = |name: &str| soft.iter().any(|known| known == name);
                if is_known(a) && is_known(b) { SAME_HARD } else { base.lexical().cosine(a, b) }
            }
            Self::Vectors(vectors) => cosine(&vectors[a], &vectors[b]),
        }
    }

    fn of_means(&self, hard: &str, a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
        match self {
            Self::Tree(_) => {
                let sum = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> f64 {
                    let of = |x: &String| b.iter().map(|y| self.of_pair(hard, x, y)).sum::<f64>();
                    a.iter().map(of).sum()
                };
                (sum(a, b) / (sum(a, a) * sum(b, b)).sqrt()).clamp(0.0, 1.0)
            }
            Self::Vectors(vectors) => {
                let of = |names: &BTreeSet<String>| {
                    mean(&names.iter().map(|name| vectors[name].clone()).collect::<Vec<_>>())
                };
                cosine(&of(a), &of(b))
            }
        }
    }
}

fn label_terms(
    task: &TaskLabels,
    entry: &TaskLabels,
    similarity: &SoftSimilarity<'_>,
    settings: &RetrievalSettings,
) -> Vec<LabelTerm> {
    let shared = task.iter().filter_map(|(hard, soft)| Some((hard, soft, entry.soft(hard)?)));
    let term = |(hard, ours, theirs): (&str, &BTreeSet<String>, &BTreeSet<String>)| {
        let (mean, best) = if ours.is_empty() || theirs.is_empty() {
            (SAME_HARD, SAME_HARD)
        } else {
            let best = |a: &String| {
                let alike = theirs.iter().map(|b| similarity.of_pair(hard, a, b));
                alike.fold(f64::NEG_INFINITY, f64::max)
            };
            let sum: f64 = ours.iter().map(best).sum();
            (similarity.of_means(hard, ours, theirs), sum / ours.len() as f64)
        };
        let term = settings.mean * mean + settings.best * best;
        LabelTerm { hard: hard.to_owned(), mean, best, term }
    };
    shared.map(term).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::exclusions::ExclusionReason;
    use crate::knowledge::fixture::{base, query};
    use crate::knowledge::record::TrickUse;
    use proptest::prelude::*;
    use std::fmt::Write as _;
    use tasks::metrics::Direction;

    fn rank(labels: &[&str], exclusions: &Exclusions) -> Ranked {
        let base = base();
        let query = query("Predict the yield of each field from soil and weather.", labels);
        retrieve(&base, &query, exclusions, &RetrievalSettings::default(), base.lexical()).unwrap()
    }

    fn table(ranked: &Ranked) -> String {
        let mut text = String::new();
        for entry in &ranked.entries {
            let _ = write!(
                text,
                "{:16} {:.4} = {:.4} + {:.4}; d {:.4}, t {:.4}",
                entry.id, entry.score, entry.description_part, entry.labels_part, entry.d, entry.t
            );
            for LabelTerm { hard, mean, best, term } in &entry.labels {
                let _ = write!(text, "; {hard}: {term:.4} (mean {mean:.4}, best {best:.4})");
            }
            text.push('\n');
        }
        text
    }

    #[test]
    fn ranking_of_twenty_entries_with_every_term() {
        let labels = [
            "General Machine Learning/Regression",
            "Graph Learning/Link Prediction",
            "Graph Learning/molecules of drugs",
        ];
        insta::assert_snapshot!(table(&rank(&labels, &Exclusions::default())));
    }

    #[test]
    fn kernel_of_labels_is_the_cosine_of_means() {
        let ranked = rank(&["General Machine Learning/Regression"], &Exclusions::default());
        let term = |id: &str| {
            let entry = ranked.entries.iter().find(|entry| entry.id.as_str() == id).unwrap();
            entry.labels[0].clone()
        };
        // Unit vectors with a product of .5: the mean of both against one of them.
        let expected = 0.75 / 0.75_f64.sqrt();
        let both = term("both");
        assert!((both.mean - expected).abs() < 1e-12 && both.best == 1.0, "{both:?}");
        assert_eq!((term("same").mean, term("other-soft").mean), (1.0, 0.5));
    }

    #[test]
    fn largest_value_of_nothing_divides_nothing() {
        assert_eq!(scaled(&[0.0, -1.0], 0.2), [0.0, -0.2]);
        assert_eq!(scaled(&[1.0, 4.0], 0.8), [0.2, 0.8]);
        let ranked = rank(&[], &Exclusions::default());
        assert!(ranked.entries.iter().all(|entry| entry.labels_part == 0.0));
        assert!(ranked.ready(&base(), 12).is_empty());
    }

    #[test]
    fn ready_tricks_are_the_best_that_share_a_label() {
        let ranked = rank(&["General Machine Learning/Regression"], &Exclusions::default());
        let ready = ranked.ready(&base(), 99);
        assert_eq!(ready.len(), MOST_READY);
        assert_eq!(ready[0].as_str(), "same");
        assert_eq!(ranked.ready(&base(), 2), ready[..2]);
    }

    #[test]
    fn record_decides_ties_alone() {
        let labels: TaskLabels =
            ["General Machine Learning/Regression".parse().unwrap()].into_iter().collect();
        let entry = |id: &str, score| RankedEntry {
            id: TrickId::new(id).unwrap(),
            score,
            ..rank(&["General Machine Learning/Regression"], &Exclusions::default()).entries[0]
                .clone()
        };
        let entries = vec![entry("a", 0.9), entry("b", 0.5), entry("c", 0.5), entry("d", 0.1)];
        let used = |trick: &str, child| TrickUse {
            trick: trick.to_owned(),
            task: String::new(),
            labels: labels.clone(),
            direction: Direction::HigherIsBetter,
            parent: 0.5,
            child,
        };
        let record = TrickRecord::new(vec![used("a", 0.1), used("c", 0.9), used("d", 0.9)]);
        let ranked = Ranked { entries }.learned(&record, &labels);
        let ids: Vec<&str> = ranked.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, ["a", "c", "b", "d"]);
    }

    proptest! {
        #[test]
        fn scaling_changes_no_score(
            values in prop::collection::vec(0.0..10.0_f64, 1..20), power in -20..20_i32
        ) {
            // A power of two is exact.
            let factor = 2.0_f64.powi(power);
            let other: Vec<f64> = values.iter().map(|value| value * factor).collect();
            prop_assume!(values.iter().any(|value| *value > 0.0));
            prop_assert_eq!(scaled(&values, 0.8), scaled(&other, 0.8));
        }

        #[test]
        fn scaling_a_term_keeps_the_order(power in 1..6_i32) {
            // Both weights within t times a factor: t is scaled, and nothing else changes.
            let base = base();
            let query = query("Predict the yield.", &["General Machine Learning/Regression"]);
            let factor = 2.0_f64.powi(power);
            let plain = RetrievalSettings::default();
            let scaled = RetrievalSettings { mean: 0.8 * factor, best: 0.2 * factor, ..plain };
            let rank = |settings| {
                retrieve(&base, &query, &Exclusions::default(), settings, base.lexical()).unwrap()
            };
            let scores = |ranked: Ranked| -> Vec<(TrickId, f64)> {
                ranked.entries.into_iter().map(|entry| (entry.id, entry.score)).collect()
            };
            prop_assert_eq!(scores(rank(&plain)), scores(rank(&scaled)));
        }

        #[test]
        fn excluded_entries_never_show(picked in prop::collection::btree_set(0..20_usize, 0..20)) {
            let base = base();
            let all: Vec<TrickId> = base.tricks().iter().map(|trick| trick.id.clone()).collect();
            let mut exclusions = Exclusions::default();
            for at in &picked {
                exclusions.add(all[*at].clone(), ExclusionReason::Reads { what: "x".into() });
            }
            let ranked = rank(&["General Machine Learning/Regression"], &exclusions);
            prop_assert_eq!(ranked.entries.len(), all.len() - picked.len());
            for entry in &ranked.entries {
                prop_assert!(!exclusions.has(&entry.id));
            }
            for id in ranked.ready(&base, 12) {
                prop_assert!(!exclusions.has(&id));
            }
        }
    }
}
