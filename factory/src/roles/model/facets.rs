//! Words that a story starts from, so that no two slots ask for the same story.

use crate::numeric::draws::Draws;
use crate::spec::blueprint::Origin;

const PLACES: &str = include_str!("facets/places.txt");
const SEASONS: &str = include_str!("facets/seasons.txt");
const ACTORS: &str = include_str!("facets/actors.txt");

/// A place, a time and a person, each out of 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facets {
    /// Where a story is set, such as `harbour`.
    pub place: &'static str,
    /// When, such as `a dry April`.
    pub season: &'static str,
    /// The person at its centre, such as `beekeeper`.
    pub actor: &'static str,
}

impl Facets {
    /// The facets of an attempt at a slot, from a stream of their own.
    pub fn draw(origin: Origin) -> Self {
        let mut draws = Draws::new(origin.stream("facets"));
        let mut pick = |list: &'static str| -> &'static str {
            let words: Vec<&str> = list.lines().collect();
            words[draws.whole(0, words.len() - 1)]
        };
        Self { place: pick(PLACES), season: pick(SEASONS), actor: pick(ACTORS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_list_has_400_different_words() {
        for list in [PLACES, SEASONS, ACTORS] {
            let words: BTreeSet<&str> = list.lines().collect();
            assert_eq!((list.lines().count(), words.len()), (400, 400));
            assert!(words.iter().all(|word| word.is_ascii() && word.trim() == *word));
        }
    }

    #[test]
    fn facets_depend_on_slot_and_attempt_alone_and_rarely_repeat() {
        let of = |slot, attempt| Facets::draw(Origin { corpus_seed: 0, slot, attempt });
        assert_eq!(of(3, 0), of(3, 0));
        assert_ne!(of(3, 0), of(3, 1));
        let drawn: BTreeSet<String> = (0..500).map(|slot| format!("{:?}", of(slot, 0))).collect();
        assert_eq!(drawn.len(), 500);
    }
}
