//! Edit distances between texts, in characters and in words, and the words that they share.

use std::collections::BTreeSet;

/// Fewest insertions, deletions and substitutions of one item that turn `a` into `b`
/// (Levenshtein 1966; Wagner and Fischer 1974).
fn distance<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    // costs[j]: from the part of `a` read so far to the first j items of `b`.
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut costs[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = costs[j + 1];
            costs[j + 1] = substituted.min(diagonal + 1).min(costs[j] + 1);
        }
    }
    costs[b.len()]
}

/// Edit distance in Unicode characters, in [0, the longer length].
pub fn levenshtein(t: &str, p: &str) -> usize {
    let characters = |text: &str| text.chars().collect::<Vec<_>>();
    distance(&characters(t), &characters(p))
}

/// Σ edit distance in words / Σ words of the truth, over all rows, in [0, ∞); words are what
/// white space separates. Without any word in the truth: 0 if nothing is predicted either, else
/// infinite.
///
/// # Examples
/// ```rust
/// use tasks::metrics::text::word_error_rate;
///
/// // One word of four is wrong.
/// assert_eq!(word_error_rate(&["the cat sat", "yes"], &["the dog sat", "yes"]), 0.25);
/// ```
pub fn word_error_rate<T: AsRef<str>>(t: &[T], p: &[T]) -> f64 {
    let words =
        |text: &T| -> Vec<String> { text.as_ref().split_whitespace().map(str::to_owned).collect() };
    let (mut errors, mut total) = (0, 0);
    for (t, p) in t.iter().zip(p) {
        let t = words(t);
        errors += distance(&t, &words(p));
        total += t.len();
    }
    if errors == 0 { 0.0 } else { errors as f64 / total as f64 }
}

/// |words of both| / |words of either|, of the sets of lower-case words, [0, 1]; words are what
/// white space separates. 1 if both texts have no word, 0 if one of them has none (Jaccard 1901; as
/// in Kaggle's Tweet Sentiment Extraction, which has no row without a word).
///
/// # Examples
/// ```rust
/// use tasks::metrics::text::word_jaccard;
///
/// assert_eq!(word_jaccard("The cat sat", "the cat, sat sat"), 0.5);
/// assert_eq!((word_jaccard("", " "), word_jaccard("a", "")), (1.0, 0.0));
/// ```
pub fn word_jaccard(t: &str, p: &str) -> f64 {
    let (t, p) = (t.to_lowercase(), p.to_lowercase());
    let words = |text| str::split_whitespace(text).collect::<BTreeSet<&str>>();
    let (t, p) = (words(&t), words(&p));
    let shared = t.intersection(&p).count();
    let either = t.len() + p.len() - shared;
    if either == 0 { 1.0 } else { shared as f64 / either as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_distances() {
        assert_eq!(levenshtein("sitting", "kitten"), 3);
        assert_eq!(levenshtein("", "äöü"), 3);
        assert_eq!(word_error_rate(&["a b c", "d e"], &["a c", "d x e"]), 0.4);
        assert_eq!(word_error_rate(&[""], &[" "]), 0.0);
        assert_eq!(word_error_rate(&[""], &["a"]), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn words_shared_do_not_depend_on_side_case_or_order(
            a in "[abB ]{0,8}", b in "[abB ]{0,8}",
        ) {
            let backwards: String = b.split_whitespace().rev().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(word_jaccard(&a, &b), word_jaccard(&b, &a));
            prop_assert_eq!(word_jaccard(&a, &b), word_jaccard(&a.to_uppercase(), &backwards));
            prop_assert_eq!(word_jaccard(&a, &a), 1.0);
        }

        #[test]
        fn edit_distance_is_a_metric(a in "[ab]{0,6}", b in "[ab]{0,6}", c in "[ab]{0,6}") {
            prop_assert_eq!(levenshtein(&a, &b) == 0, a == b);
            prop_assert_eq!(levenshtein(&a, &b), levenshtein(&b, &a));
            prop_assert!(levenshtein(&a, &c) <= levenshtein(&a, &b) + levenshtein(&b, &c));
        }
    }
}
