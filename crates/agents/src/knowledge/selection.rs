//! Other choices of cards, as many, for ablations: at random, and of other fields than the task's.

use super::base::Knowledge;
use super::card::{Trick, TrickId};
use super::exclusions::Exclusions;
use super::labels::TaskLabels;
use rand::seq::IndexedRandom as _;
use tasks::stream::Stream;

/// `count` tricks at random, whatever their labels, in random order; all if there are fewer.
pub fn random_tricks(
    base: &Knowledge,
    exclusions: &Exclusions,
    count: usize,
    stream: Stream,
) -> Vec<TrickId> {
    draw(base, exclusions, count, stream.child("random"), |_| true)
}

/// `count` tricks at random of those that share no hard label with a task, in random order; all if
/// there are fewer.
pub fn wrong_label_tricks(
    base: &Knowledge,
    labels: &TaskLabels,
    exclusions: &Exclusions,
    count: usize,
    stream: Stream,
) -> Vec<TrickId> {
    let is_other =
        |trick: &Trick| trick.labels.iter().all(|label| labels.soft(&label.hard).is_none());
    draw(base, exclusions, count, stream.child("wrong label"), is_other)
}

fn draw(
    base: &Knowledge,
    exclusions: &Exclusions,
    count: usize,
    stream: Stream,
    fits: impl Fn(&Trick) -> bool,
) -> Vec<TrickId> {
    let fitting: Vec<&TrickId> = base
        .tricks()
        .iter()
        .filter(|trick| fits(trick) && !exclusions.has(&trick.id))
        .map(|trick| &trick.id)
        .collect();
    fitting.sample(&mut stream.rng(), count).map(|id| (*id).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::exclusions::ExclusionReason;
    use crate::knowledge::fixture::base;
    use std::collections::BTreeSet;

    #[test]
    fn selections_repeat_and_differ_by_seed() {
        let base = base();
        let none = Exclusions::default();
        let draw = |seed| random_tricks(&base, &none, 6, Stream::root(seed));
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_eq!(draw(1).iter().collect::<BTreeSet<_>>().len(), 6);
        assert_eq!(random_tricks(&base, &none, 99, Stream::root(0)).len(), base.tricks().len());
    }

    #[test]
    fn wrong_labels_share_no_field_and_exclusions_hold() {
        let base = base();
        let labels = ["General Machine Learning/Regression".parse().unwrap()].into_iter().collect();
        let mut exclusions = Exclusions::default();
        let draw = |exclusions: &Exclusions| {
            wrong_label_tricks(&base, &labels, exclusions, 99, Stream::root(0))
        };
        let all = draw(&exclusions);
        assert!(!all.is_empty());
        for id in &all {
            let trick = base.trick(id).unwrap();
            assert!(trick.labels.iter().all(|label| label.hard == "Graph Learning"), "{id}");
        }
        exclusions.add(all[0].clone(), ExclusionReason::Reads { what: "x".into() });
        assert_eq!(draw(&exclusions).len(), all.len() - 1);
    }
}
