//! Edit distances between texts, in characters and in words.

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
        fn edit_distance_is_a_metric(a in "[ab]{0,6}", b in "[ab]{0,6}", c in "[ab]{0,6}") {
            prop_assert_eq!(levenshtein(&a, &b) == 0, a == b);
            prop_assert_eq!(levenshtein(&a, &b), levenshtein(&b, &a));
            prop_assert!(levenshtein(&a, &c) <= levenshtein(&a, &b) + levenshtein(&b, &c));
        }
    }
}
