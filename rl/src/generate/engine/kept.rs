//! Rows of the KV cache that are kept after their sequences have ended (automatic prefix caching).
//!
//! A request of an agent repeats its whole conversation. If the row of the last turn is still
//! there, only what is new is prefilled. Rows are kept while no sequence needs their places: the
//! scheduler does not know them, and the least recently used one is given up first.

use std::collections::BTreeMap;

/// The fewest tokens of a prefix that is used again: vLLM's block.
const LEAST: usize = 16;

/// A row without a sequence.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptRow {
    /// Its place in the cache.
    pub(super) place: usize,
    /// The tokens whose keys and values it holds.
    pub(super) ids: Vec<i64>,
}

/// A cached prefix of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Prefix {
    /// The place that holds it.
    pub(super) place: usize,
    /// Its length, less than that of the sequence: the last token is always computed anew,
    /// because its logits are needed.
    pub(super) tokens: usize,
}

/// The rows that are kept, the least recently used one first.
#[derive(Debug, Default)]
pub(super) struct KeptRows(Vec<KeptRow>);

impl KeptRows {
    /// Keeps a row. Rows that hold a beginning of another one are of no use, and are forgotten.
    pub(super) fn keep(&mut self, row: KeptRow) {
        if row.ids.len() < LEAST || self.0.iter().any(|other| other.ids.starts_with(&row.ids)) {
            return;
        }
        self.0.retain(|other| !row.ids.starts_with(&other.ids));
        self.0.push(row);
    }

    /// Removes and returns the row with the longest prefix of a sequence, if that is at least half
    /// of what the row holds. Of a row that would lose more, a copy is better ([`Self::source`]):
    /// conversations may have nothing in common but a system message.
    pub(super) fn take(&mut self, sequence: &[i64]) -> Option<Prefix> {
        let (index, tokens) = self.longest(sequence)?;
        if 2 * tokens < self.0[index].ids.len() {
            return None;
        }
        Some(Prefix { place: self.0.remove(index).place, tokens })
    }

    /// The longest prefix of a sequence. Its row counts as used now.
    pub(super) fn source(&mut self, sequence: &[i64]) -> Option<Prefix> {
        let (index, tokens) = self.longest(sequence)?;
        let row = self.0.remove(index);
        let place = row.place;
        self.0.push(row);
        Some(Prefix { place, tokens })
    }

    /// Forgets the least recently used row and returns its place.
    pub(super) fn give_up(&mut self) -> Option<usize> {
        (!self.0.is_empty()).then(|| self.0.remove(0).place)
    }

    /// All rows, the most recently used one first.
    pub(super) fn recent(&self) -> impl Iterator<Item = &KeptRow> {
        self.0.iter().rev()
    }

    /// How many rows are kept.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// New places by the old ones. Rows without a new place are forgotten.
    pub(super) fn relocate(&mut self, moved: &BTreeMap<usize, usize>) {
        self.0.retain_mut(|row| {
            let place = moved.get(&row.place);
            row.place = place.copied().unwrap_or(row.place);
            place.is_some()
        });
    }

    /// The index of the row with the longest prefix that is worth it, and the prefix's length.
    fn longest(&self, sequence: &[i64]) -> Option<(usize, usize)> {
        let (_, usable) = sequence.split_last()?;
        let shared = |row: &KeptRow| {
            row.ids.iter().zip(usable).take_while(|(kept, wanted)| kept == wanted).count()
        };
        let lengths = self.0.iter().map(shared).enumerate();
        lengths.filter(|(_, tokens)| *tokens >= LEAST).max_by_key(|(_, tokens)| *tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(place: usize, ids: impl IntoIterator<Item = i64>) -> KeptRow {
        KeptRow { place, ids: ids.into_iter().collect() }
    }

    fn places(kept: &KeptRows) -> Vec<usize> {
        kept.0.iter().map(|row| row.place).collect()
    }

    #[test]
    fn continued_conversation_takes_its_row() {
        let mut kept = KeptRows::default();
        kept.keep(row(3, 0..40));
        kept.keep(row(5, 100..140));
        let next: Vec<i64> = (0..60).collect();
        assert_eq!(kept.take(&next), Some(Prefix { place: 3, tokens: 40 }));
        assert_eq!((kept.take(&next), places(&kept)), (None, vec![5]));
        // The same prompt again: all but its last token.
        let same: Vec<i64> = (100..140).collect();
        assert_eq!(kept.take(&same), Some(Prefix { place: 5, tokens: 39 }));
    }

    #[test]
    fn row_that_would_lose_most_of_its_tokens_is_copied() {
        let mut kept = KeptRows::default();
        kept.keep(row(0, 0..100));
        kept.keep(row(1, 500..540));
        let other: Vec<i64> = (0..30).chain(200..300).collect();
        assert_eq!(kept.take(&other), None);
        assert_eq!(kept.source(&other), Some(Prefix { place: 0, tokens: 30 }));
        // It was used, so the other one is given up first.
        assert_eq!((kept.give_up(), kept.give_up(), kept.give_up()), (Some(1), Some(0), None));
    }

    #[test]
    fn short_prefixes_and_beginnings_of_other_rows_are_not_kept() {
        let mut kept = KeptRows::default();
        kept.keep(row(0, 0..15));
        assert_eq!(kept.len(), 0);
        kept.keep(row(0, 0..30));
        kept.keep(row(1, 0..20));
        assert_eq!(places(&kept), [0]);
        kept.keep(row(2, 0..50));
        assert_eq!(places(&kept), [2]);
        let alike: Vec<i64> = (0..15).chain(70..90).collect();
        assert_eq!((kept.source(&alike), kept.take(&[])), (None, None));
    }

    #[test]
    fn rows_without_a_new_place_are_forgotten() {
        let mut kept = KeptRows::default();
        for (place, first) in [(0, 0), (1, 100), (2, 200)] {
            kept.keep(row(place, first..first + 20));
        }
        kept.relocate(&BTreeMap::from([(0, 1), (2, 0)]));
        assert_eq!(places(&kept), [1, 0]);
        assert_eq!(kept.recent().map(|row| row.ids[0]).collect::<Vec<_>>(), [200, 0]);
    }
}
