//! Names of things that answers name: opaque ones, and which of them are frequent.

use crate::numeric::draws::Draws;
use std::collections::{BTreeMap, BTreeSet};

/// Opaque names, all different, in no order.
pub(super) fn opaque(count: usize, draws: &mut Draws) -> Vec<String> {
    let mut names = BTreeSet::new();
    while names.len() < count {
        let letters = [0; 2].map(|_| *draws.pick(&['b', 'd', 'f', 'h', 'k', 'm', 'r', 't', 'v']));
        names.insert(format!("{}{}{}", letters[0], letters[1], draws.whole(100, 999)));
    }
    // In no order, so that names say nothing of what they are drawn for.
    let mut names: Vec<String> = names.into_iter().collect();
    draws.shuffle(&mut names);
    names
}

/// The most frequent names; the first in order of equals.
pub(super) fn frequent(names: &[&str], most: usize) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    let mut sorted: Vec<(&str, usize)> = counts.into_iter().collect();
    // Stable, so names that are as frequent stay in order.
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sorted.into_iter().take(most).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    #[test]
    fn opaque_names_are_different_and_in_no_order() {
        let names = opaque(30, &mut Draws::new(Stream::root(3)));
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 30);
        assert!(!names.is_sorted());
    }

    #[test]
    fn frequent_names_come_first_and_equals_in_order() {
        assert_eq!(frequent(&["c", "b", "c", "a"], 2), ["c", "a"]);
    }
}
