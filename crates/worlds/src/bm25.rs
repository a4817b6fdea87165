//! BM25 over a closed set of texts: the same ranking on every machine.
//!
//! ```text
//! score(q, d) = Σ_{w in q} idf(w) · f(w, d) · (K1 + 1) / (f(w, d) + K1 · (1 - B + B · |d| / mean |d|))
//! idf(w)      = ln(1 + (N - n(w) + 0.5) / (n(w) + 0.5))
//! ```
//! (Robertson and Zaragoza, 2009, with the idf of Lucene.) Sums run in the order of the query's
//! words, and equal scores are in the order of the texts.

use crate::grams::words;
use std::collections::BTreeMap;

/// How fast the weight of a repeated word saturates.
const K1: f64 = 1.2;
/// How much the length of a text counts.
const B: f64 = 0.75;

/// An index of texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Index {
    /// For each word the texts that have it, and how often.
    postings: BTreeMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    mean_length: f64,
}

impl Index {
    /// Indexes texts, in their order.
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut postings: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (text, content) in texts.into_iter().enumerate() {
            let words = words(content);
            lengths.push(words.len() as f64);
            for word in words {
                let texts = postings.entry(word).or_default();
                match texts.last_mut() {
                    Some((last, count)) if *last == text => *count += 1.0,
                    _ => texts.push((text, 1.0)),
                }
            }
        }
        let mean_length = lengths.iter().sum::<f64>() / (lengths.len().max(1) as f64);
        Self { postings, lengths, mean_length }
    }

    /// The positions of the best texts for a query, best first, at most `count`. Texts without any
    /// of its words are left out.
    pub(crate) fn search(&self, query: &str, count: usize) -> Vec<usize> {
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let all = self.lengths.len() as f64;
        for word in words(query) {
            let Some(texts) = self.postings.get(&word) else { continue };
            let having = texts.len() as f64;
            let idf = libm::log(1.0 + (all - having + 0.5) / (having + 0.5));
            for &(text, frequency) in texts {
                let length = 1.0 - B + B * self.lengths[text] / self.mean_length;
                let weight = frequency * (K1 + 1.0) / (frequency + K1 * length);
                *scores.entry(text).or_default() += idf * weight;
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
        ranked.into_iter().take(count).map(|(text, _)| text).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_and_short_texts_rank_first() {
        let index = Index::new(["red mug", "red mug with a long handle", "blue mug", "red plate"]);
        assert_eq!(index.search("blue mug", 9), [2, 0, 1]);
        assert_eq!(index.search("Red", 9), [0, 3, 1]);
        assert_eq!(index.search("red", 1), [0]);
        assert!(index.search("green", 9).is_empty() && index.search("", 9).is_empty());
    }

    #[test]
    fn scores_are_those_of_the_formula() {
        let index = Index::new(["a a b", "b"]);
        // N = 2, n(a) = 1: ln 2; f = 2, |d| = 3, mean 2: 2 · 2.2 / (2 + 1.2 · (0.25 + 0.75 · 1.5))
        let expected = std::f64::consts::LN_2 * 4.4 / (2.0 + 1.2 * 1.375);
        let idf = libm::log(1.0 + 1.5 / 1.5);
        assert!((idf * (2.0 * 2.2) / (2.0 + 1.2 * 1.375) - expected).abs() < 1e-12);
        assert_eq!(index.search("a b", 9), [0, 1]);
    }
}
