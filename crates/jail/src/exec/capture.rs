//! Captured output of a script: the first and last bytes of a stream, and the total number.

use crate::limits::Keep;
use serde::{Serialize, Serializer};
use std::collections::VecDeque;

/// The kept part of a stream. Bytes, because a script may print anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    keep: Keep,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Captured {
    /// An empty capture that keeps `keep` bytes.
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    /// Returns everything captured so far and starts anew.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.keep))
    }

    /// Appends bytes that the script printed.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.keep.head.length().saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let tail = self.keep.tail.length();
        // Of a chunk longer than the tail only its own end can matter.
        self.tail.extend(&rest[rest.len().saturating_sub(tail)..]);
        self.tail.drain(..self.tail.len().saturating_sub(tail));
    }

    /// Number of bytes printed, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Number of bytes between head and tail that were not kept.
    pub fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The bytes that were kept: all in one piece, or, if some between were not, the beginning and
    /// the end. For people, [`printable_bytes`](tasks::text::printable_bytes) shows them as text.
    pub fn kept(&self) -> (Vec<u8>, Option<Vec<u8>>) {
        let (mut head, tail) = (self.head.clone(), self.tail.iter().copied());
        if self.omitted() > 0 {
            return (head, Some(tail.collect()));
        }
        head.extend(tail);
        (head, None)
    }

    /// All that was kept as text, with a line in the place of what was not. Bytes that are no
    /// UTF-8 become replacement characters.
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.omitted() == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(&tail);
        format!("{head}\n[... {} bytes omitted ...]\n{tail}", self.omitted())
    }
}

impl Serialize for Captured {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tasks::units::ByteSize;

    fn captured(head: u64, tail: u64, chunks: &[Vec<u8>]) -> Captured {
        let keep = Keep { head: ByteSize::new(head), tail: ByteSize::new(tail) };
        let mut captured = Captured::new(keep);
        for chunk in chunks {
            captured.push(chunk);
        }
        captured
    }

    #[test]
    fn the_middle_is_left_out() {
        let captured = captured(3, 2, &[b"abcdefgh".to_vec()]);
        assert_eq!(captured.text(), "abc\n[... 3 bytes omitted ...]\ngh");
        assert_eq!(captured.total(), 8);
        assert_eq!(captured.kept(), (b"abc".to_vec(), Some(b"gh".to_vec())));
    }

    proptest! {
        #[test]
        fn chunking_changes_nothing(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..8),
            head in 0u64..30,
            tail in 0u64..30,
        ) {
            let whole = chunks.concat();
            let piecewise = captured(head, tail, &chunks);
            prop_assert_eq!(&piecewise, &captured(head, tail, std::slice::from_ref(&whole)));
            prop_assert_eq!(piecewise.total(), whole.len() as u64);
            if whole.len() as u64 <= head + tail {
                prop_assert_eq!(piecewise.text(), String::from_utf8_lossy(&whole));
                prop_assert_eq!(piecewise.kept(), (whole, None));
            }
        }
    }
}
