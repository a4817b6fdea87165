//! Rows of text that are not alike.

use crate::data::likeness;
use std::collections::{BTreeMap, BTreeSet};

/// The Jaccard index of runs of five words up to which two rows may be alike. Verification finds
/// copies from 0.5 on.
const MOST: f64 = 0.4;

/// The texts that were kept so far.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    known: BTreeSet<String>,
    sizes: Vec<usize>,
    /// Which texts hold a run of words.
    holders: BTreeMap<u64, Vec<usize>>,
}

impl Distinct {
    /// Keeps a text, unless it is much like one that was kept before.
    pub(super) fn keep(&mut self, text: &str) -> bool {
        let grams = likeness::grams(text);
        let mut shared = vec![0_usize; self.sizes.len()];
        for holder in grams.iter().filter_map(|gram| self.holders.get(gram)).flatten() {
            shared[*holder] += 1;
        }
        let alike = |(shared, size): (&usize, &usize)| {
            *shared as f64 > MOST * (grams.len() + size - shared) as f64
        };
        if shared.iter().zip(&self.sizes).any(alike) || !self.known.insert(text.to_owned()) {
            return false;
        }
        for gram in &grams {
            self.holders.entry(*gram).or_default().push(self.sizes.len());
        }
        self.sizes.push(grams.len());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_a_word_changed_are_not_kept() {
        let mut distinct = Distinct::default();
        let text = "the night ferry opens at 4:30 on the way to the outer islands again today";
        assert!(distinct.keep(text));
        assert!(!distinct.keep(text));
        assert!(!distinct.keep(&text.replace("today", "now")));
        assert!(distinct.keep(&text.replace("4:30 on the way to", "dawn although fog hides")));
    }
}
