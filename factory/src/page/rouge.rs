//! ROUGE-L: how much of two texts is one common subsequence of words.
//!
//! Lin, "ROUGE: A Package for Automatic Evaluation of Summaries" (2004), section 3. The length of
//! the longest common subsequence is found by Hyyrö's bit-parallel method ("Bit-parallel LCS-length
//! computation revisited", 2004): 64 words at a time.

use std::collections::BTreeMap;

/// Texts whose words are numbers, so that comparing two of them is quick.
#[derive(Debug)]
pub(super) struct NumberedTexts {
    texts: Vec<Vec<usize>>,
    /// Number of different words.
    vocabulary: usize,
}

impl NumberedTexts {
    /// Numbers the words of texts, equal words alike.
    pub(super) fn new(texts: &[Vec<String>]) -> Self {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for word in texts.iter().flatten() {
            let next = numbers.len();
            numbers.entry(word).or_insert(next);
        }
        let texts = texts
            .iter()
            .map(|text| text.iter().map(|word| numbers[word.as_str()]).collect())
            .collect();
        Self { texts, vocabulary: numbers.len() }
    }

    /// The highest ROUGE-L F1 of a text with any other text, in [0, 1]; 0 without others.
    ///
    /// # Panics
    /// If there is no such text.
    pub(super) fn nearest(&self, one: usize) -> f64 {
        let places = WordPlaces::new(&self.texts[one], self.vocabulary);
        let others = self.texts.iter().enumerate().filter(|(other, _)| *other != one);
        others.map(|(_, other)| places.f1(other)).fold(0.0, f64::max)
    }
}

/// Where each word stands in a text, as bits.
struct WordPlaces {
    /// Words of the text.
    length: usize,
    /// 64-bit blocks per word of the vocabulary.
    blocks: usize,
    /// The place in `bits` of each word of the vocabulary that occurs.
    at: Vec<Option<usize>>,
    bits: Vec<u64>,
}

impl WordPlaces {
    fn new(text: &[usize], vocabulary: usize) -> Self {
        let blocks = text.len().div_ceil(64);
        let (mut at, mut bits) = (vec![None; vocabulary], Vec::new());
        for (place, word) in text.iter().enumerate() {
            let begin = *at[*word].get_or_insert_with(|| {
                bits.resize(bits.len() + blocks, 0);
                bits.len() - blocks
            });
            bits[begin + place / 64] |= 1 << (place % 64);
        }
        Self { length: text.len(), blocks, at, bits }
    }

    /// Length of the longest common subsequence with another text.
    fn common(&self, other: &[usize]) -> usize {
        let mut row = vec![u64::MAX; self.blocks];
        for word in other {
            let Some(begin) = self.at[*word] else { continue };
            let mut carry = false;
            for (block, bits) in row.iter_mut().zip(&self.bits[begin..begin + self.blocks]) {
                let matched = *block & bits;
                let (sum, over) = block.overflowing_add(matched);
                let (sum, over_again) = sum.overflowing_add(u64::from(carry));
                carry = over || over_again;
                *block = sum | (*block & !bits);
            }
        }
        // Bits past the text's end never become 0.
        row.iter().map(|block| block.count_zeros() as usize).sum()
    }

    /// F1 = 2 L / (m + n), with L the common length and m, n the lengths; 0 for empty texts.
    fn f1(&self, other: &[usize]) -> f64 {
        let words = self.length + other.len();
        if words == 0 { 0.0 } else { 2.0 * self.common(other) as f64 / words as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::english::words;
    use proptest::prelude::*;

    fn f1(one: &str, other: &str) -> f64 {
        NumberedTexts::new(&[words(one), words(other)]).nearest(0)
    }

    /// Textbook dynamic programming.
    fn common(one: &[usize], other: &[usize]) -> usize {
        let mut above = vec![0; other.len() + 1];
        for a in one {
            let mut row = vec![0; other.len() + 1];
            for (at, b) in other.iter().enumerate() {
                row[at + 1] = if a == b { above[at] + 1 } else { row[at].max(above[at + 1]) };
            }
            above = row;
        }
        above[other.len()]
    }

    #[test]
    fn worked_examples_of_the_paper_come_out() {
        // Lin (2004), section 3.1: S2 and S3 against the reference S1, beta = 1.
        let reference = "police killed the gunman";
        assert!((f1(reference, "police kill the gunman") - 0.75).abs() < 1e-12);
        assert!((f1(reference, "the gunman kill police") - 0.5).abs() < 1e-12);
    }

    /// rouge-score 0.1.2:
    ///
    /// ```python
    /// from rouge_score.rouge_scorer import RougeScorer
    /// RougeScorer(["rougeL"]).score(one, other)["rougeL"].fmeasure
    /// ```
    #[test]
    fn scores_are_those_of_the_package_rouge_score() {
        let up = "one two three four five six seven eight nine ten ".repeat(9);
        let down = "ten nine eight seven six five four three two one ".repeat(8);
        for (one, other, expected) in [
            (
                "A grid operator plans repairs from these reports.",
                "The operator of a grid plans its repairs from reports.",
                0.666_666_666_666_666_5,
            ),
            (
                "In `low_temp`, 9.05 is the lowest value; see train.csv.",
                "The lowest value of low_temp is 9.05 (train.csv).",
                0.521_739_130_434_782_5,
            ),
            (&up, &down, 0.188_235_294_117_647_04),
        ] {
            let ours = f1(one, other);
            assert!((ours - expected).abs() < 1e-12, "{ours} {expected}");
        }
    }

    #[test]
    fn texts_without_a_neighbour_or_words_score_zero() {
        assert_eq!(NumberedTexts::new(&[words("alone")]).nearest(0), 0.0);
        assert_eq!(f1("", ""), 0.0);
        assert_eq!(f1("a b", "c d"), 0.0);
    }

    proptest! {
        #[test]
        fn bit_parallel_length_is_that_of_dynamic_programming(
            one in prop::collection::vec(0_usize..9, 0..200),
            other in prop::collection::vec(0_usize..9, 0..200),
        ) {
            prop_assert_eq!(WordPlaces::new(&one, 9).common(&other), common(&one, &other));
        }
    }
}
