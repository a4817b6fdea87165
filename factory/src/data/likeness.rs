//! How alike descriptions are: the Jaccard index of their sets of five successive words.
//!
//! All pairs are compared exactly; a corpus is small enough for that.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Number of consecutive words in an n-gram.
const GRAM: usize = 5;
/// The Jaccard index above which two descriptions count as near-duplicates.
pub const ALIKE: f64 = 0.7;
/// Number of pairs in [`Likeness::closest`].
const NAMED: usize = 5;

/// Two tasks and how alike their descriptions are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    /// Name of the first task.
    pub one: String,
    /// Name of the second task.
    pub other: String,
    /// Jaccard index of their descriptions.
    pub jaccard: f64,
}

/// How alike the descriptions of a corpus are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Likeness {
    /// Number of descriptions that were compared.
    pub descriptions: usize,
    /// Number of pairs that were compared.
    pub pairs: usize,
    /// Number of pairs whose index is above [`ALIKE`].
    pub alike_pairs: usize,
    /// Their share of all pairs.
    pub alike_pairs_share: f64,
    /// Descriptions in at least one such pair.
    pub alike: usize,
    /// Their share of all descriptions.
    pub alike_share: f64,
    /// The pairs that are most alike, those first.
    pub closest: Vec<Pair>,
}

impl Likeness {
    /// Compares texts, each given with the name of its task.
    pub fn of(texts: &[(String, String)]) -> Self {
        let grams: Vec<Vec<u64>> = texts.par_iter().map(|(_, text)| grams(text)).collect();
        let count = grams.len();
        let rows: Vec<Row> = (0..count).into_par_iter().map(|one| Row::of(one, &grams)).collect();
        let mut in_pair = vec![false; count];
        let mut closest: Vec<Pair> = Vec::new();
        for (one, row) in rows.iter().enumerate() {
            in_pair[one] |= !row.alike.is_empty();
            for other in &row.alike {
                in_pair[*other] = true;
            }
            closest.extend(row.closest.map(|(jaccard, other)| Pair {
                one: texts[one].0.clone(),
                other: texts[other].0.clone(),
                jaccard,
            }));
        }
        closest.sort_by(|a, b| b.jaccard.total_cmp(&a.jaccard));
        closest.truncate(NAMED);
        let pairs = count * count.saturating_sub(1) / 2;
        let alike_pairs = rows.iter().map(|row| row.alike.len()).sum();
        let alike = in_pair.iter().filter(|alike| **alike).count();
        let share = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        Self {
            descriptions: count,
            pairs,
            alike_pairs,
            alike_pairs_share: share(alike_pairs, pairs),
            alike,
            alike_share: share(alike, count),
            closest,
        }
    }
}

/// One description against all later ones.
struct Row {
    /// Those that it is alike to.
    alike: Vec<usize>,
    /// The one that it is most like.
    closest: Option<(f64, usize)>,
}

impl Row {
    fn of(one: usize, grams: &[Vec<u64>]) -> Self {
        let mut row = Self { alike: Vec::new(), closest: None };
        for other in one + 1..grams.len() {
            let index = jaccard(&grams[one], &grams[other]);
            if index > ALIKE {
                row.alike.push(other);
            }
            if row.closest.is_none_or(|(best, _)| index > best) {
                row.closest = Some((index, other));
            }
        }
        row
    }
}

/// Hashes of all runs of [`GRAM`] words, sorted, each once. A shorter text is one run.
pub(crate) fn grams(text: &str) -> Vec<u64> {
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut grams: Vec<u64> = words
        .windows(GRAM.min(words.len()).max(1))
        .map(|run| {
            let hash = blake3::hash(run.join(" ").as_bytes());
            hash.as_bytes().iter().take(8).fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
        })
        .collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// |A ∩ B| / |A ∪ B| of sorted sets; 0 for two empty ones.
fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut shared) = (0, 0, 0_usize);
    while i < a.len() && j < b.len() {
        shared += usize::from(a[i] == b[j]);
        let step = a[i].cmp(&b[j]);
        i += usize::from(step.is_le());
        j += usize::from(step.is_ge());
    }
    let union = a.len() + b.len() - shared;
    if union == 0 { 0.0 } else { shared as f64 / union as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_index_is_that_of_runs_of_five_words() {
        // Runs: abcde bcdef | abcde bcdex: one of three shared.
        let index = jaccard(&grams("A b, c d e f"), &grams("a b c d (e) x"));
        assert!((index - 1.0 / 3.0).abs() < 1e-12, "{index}");
        assert_eq!(grams("too short").len(), 1);
        assert!(grams("").is_empty());
        assert_eq!(jaccard(&[], &[]), 0.0);
    }

    #[test]
    fn twins_are_found_and_named() {
        let text = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        let story = "one two three four five six seven eight nine ten eleven twelve thirteen";
        let likeness = Likeness::of(&[
            text("a", story),
            text("b", "something else entirely, told in quite other words than those"),
            text("c", &format!("{story} fourteen")),
        ]);
        assert_eq!((likeness.pairs, likeness.alike_pairs, likeness.alike), (3, 1, 2));
        let closest = &likeness.closest[0];
        assert_eq!((&*closest.one, &*closest.other), ("a", "c"));
        assert!((closest.jaccard - 0.9).abs() < 1e-12);
        assert_eq!(Likeness::of(&[]).alike_share, 0.0);
    }

    proptest! {
        #[test]
        fn sorted_sets_give_the_index_of_sets(
            a in prop::collection::btree_set(0_u64..40, 0..30),
            b in prop::collection::btree_set(0_u64..40, 0..30),
        ) {
            let list = |set: &BTreeSet<u64>| set.iter().copied().collect::<Vec<_>>();
            let index = jaccard(&list(&a), &list(&b));
            let union = a.union(&b).count().max(1);
            prop_assert_eq!(index, a.intersection(&b).count() as f64 / union as f64);
            prop_assert!(a.is_empty() || jaccard(&list(&a), &list(&a)) == 1.0);
        }
    }
}
