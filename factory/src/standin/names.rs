//! Labels in fixed shares, and invented ids.

use crate::numeric::draws::{Draws, floor};
use std::collections::BTreeSet;

/// The fewest rows of a class, so that every score on few rows is defined.
const FEWEST: usize = 4;

/// The classes of `rows` rows in random order. Each class has its share of the rows, and at least
/// four; the largest one has what is left.
pub(super) fn spread(draws: &mut Draws, rows: usize, shares: &[f64]) -> Vec<usize> {
    let sum: f64 = shares.iter().sum();
    let count = |share: &f64| floor(share / sum * rows as f64 + 0.5).max(FEWEST);
    let mut counts: Vec<usize> = shares.iter().map(count).collect();
    let largest = (0..shares.len()).fold(0, |a, b| if shares[b] > shares[a] { b } else { a });
    let others: usize = counts.iter().sum::<usize>() - counts[largest];
    counts[largest] = rows - others;
    let classes = counts.iter().enumerate();
    let mut labels: Vec<usize> =
        classes.flat_map(|(class, count)| std::iter::repeat_n(class, *count)).collect();
    draws.shuffle(&mut labels);
    labels
}

/// A yes or no for each of `rows` rows in random order: yes for the share `share` of them, and at
/// least four of either.
pub(super) fn flags(draws: &mut Draws, rows: usize, share: f64) -> Vec<bool> {
    spread(draws, rows, &[1.0 - share, share]).into_iter().map(|class| class == 1).collect()
}

/// `count` names, no two alike: what `draw` draws, and again where a name is taken.
pub(super) fn distinct(
    draws: &mut Draws,
    count: usize,
    mut draw: impl FnMut(&mut Draws) -> String,
) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut names = Vec::with_capacity(count);
    while names.len() < count {
        let name = draw(draws);
        if taken.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// `digits` random digits of base 16.
pub(super) fn hex(draws: &mut Draws, digits: usize) -> String {
    text(draws, b"0123456789abcdef", digits)
}

/// `length` random characters among `alphabet`, which is ASCII.
pub(super) fn text(draws: &mut Draws, alphabet: &[u8], length: usize) -> String {
    (0..length).map(|_| char::from(*draws.pick(alphabet))).collect()
}

/// Words joined into a sentence: a capital at the front, a full stop at the end.
pub(super) fn sentence(words: &[&str]) -> String {
    let text = words.join(" ");
    let mut letters = text.chars();
    let first: String =
        letters.next().map(|letter| letter.to_uppercase().collect()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    #[test]
    fn every_class_has_its_share_and_at_least_four_rows() {
        let mut draws = Draws::new(Stream::root(1));
        let labels = spread(&mut draws, 60, &[0.5, 0.01, 0.3, 0.19]);
        let count = |class| labels.iter().filter(|label| **label == class).count();
        assert_eq!([0, 1, 2, 3].map(count), [27, 4, 18, 11]);
    }

    #[test]
    fn names_that_are_taken_are_drawn_again() {
        let mut draws = Draws::new(Stream::root(1));
        let names = distinct(&mut draws, 16, |draws| hex(draws, 1));
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 16);
    }
}
