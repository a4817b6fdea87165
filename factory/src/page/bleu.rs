//! Self-BLEU: how much of a text's wording is that of other texts.
//!
//! BLEU is that of Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation"
//! (2002), over runs of one to four words, without the brevity penalty: with fifty references there
//! is always one of nearly the same length. Self-BLEU (Zhu et al., "Texygen", 2018) takes each text
//! as the candidate and others as its references.

use rayon::prelude::*;
use std::collections::BTreeMap;

/// Longest runs of words that are compared.
const ORDER: usize = 4;
/// Most texts that are candidates.
const CANDIDATES: usize = 60;
/// Most references of a candidate.
const REFERENCES: usize = 50;

/// How often each run of some number of words occurs in a text.
type Counts<'a> = BTreeMap<&'a [String], usize>;

/// The mean BLEU-4 of texts, given as their words, each with others as references, in [0, 1]; 0
/// without others. At most 60 texts are candidates, evenly spaced, and the references of each are
/// the 50 texts that follow it in a circle.
pub(super) fn self_bleu(texts: &[Vec<String>]) -> f64 {
    let count = texts.len();
    if count < 2 {
        return 0.0;
    }
    let counted: Vec<[Counts<'_>; ORDER]> =
        texts.par_iter().map(|text| std::array::from_fn(|order| counts(text, order + 1))).collect();
    let candidates = count.min(CANDIDATES);
    let of_candidate = |candidate: usize| {
        let at = candidate * count / candidates;
        let others = (1..=REFERENCES.min(count - 1)).map(|step| &counted[(at + step) % count]);
        bleu(&counted[at], &others.collect::<Vec<_>>())
    };
    // Summed in order, whatever the number of threads.
    let scores: Vec<f64> = (0..candidates).into_par_iter().map(of_candidate).collect();
    scores.iter().sum::<f64>() / candidates as f64
}

fn counts(text: &[String], length: usize) -> Counts<'_> {
    let mut counts = Counts::new();
    for run in text.windows(length) {
        *counts.entry(run).or_default() += 1;
    }
    counts
}

/// The geometric mean, over the lengths of runs, of the share of the candidate's runs that occur in
/// a reference; a run counts at most as often as in the reference that has it most often.
fn bleu(candidate: &[Counts<'_>; ORDER], references: &[&[Counts<'_>; ORDER]]) -> f64 {
    let mut logarithms = 0.0;
    for (order, counts) in candidate.iter().enumerate() {
        let most = |run: &[String]| {
            references.iter().filter_map(|one| one[order].get(run)).max().copied().unwrap_or(0)
        };
        let found: usize = counts.iter().map(|(run, count)| most(run).min(*count)).sum();
        let all: usize = counts.values().sum();
        if found == 0 {
            return 0.0;
        }
        logarithms += libm::log(found as f64 / all as f64);
    }
    libm::exp(logarithms / ORDER as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::english::words;

    fn of(texts: &[&str]) -> f64 {
        self_bleu(&texts.iter().map(|text| words(text)).collect::<Vec<_>>())
    }

    #[test]
    fn scores_are_geometric_means_of_clipped_shares() {
        // Of six words five are shared, of five pairs three, of four triples one, of three fours none.
        assert_eq!(of(&["the cat sat on the mat", "the cat lay on the mat"]), 0.0);
        // Nine of ten words, eight of nine pairs, seven of eight triples, six of seven fours.
        let score = of(&["a b c d e f g h i j", "a b c d e f g h i k"]);
        let expected = (9.0 / 10.0 * 8.0 / 9.0 * 7.0 / 8.0 * 6.0 / 7.0_f64).powf(0.25);
        assert!((score - expected).abs() < 1e-12, "{score} {expected}");
        // Of three `a` one counts, since the reference has one. Both ways: four of six words, three
        // of five pairs, two of four triples, one of three fours.
        let score = of(&["a a a b c d", "a b c d e f"]);
        let expected = (4.0 / 6.0 * 3.0 / 5.0 * 2.0 / 4.0 / 3.0_f64).powf(0.25);
        assert!((score - expected).abs() < 1e-12, "{score} {expected}");
        // Three references: each run counts where any of them has it.
        let texts = ["a b c d e f g h", "a b c d x y", "z e f g h v", "d e f w"];
        let all = texts.map(words);
        let counted: Vec<[Counts<'_>; ORDER]> =
            all.iter().map(|text| std::array::from_fn(|order| counts(text, order + 1))).collect();
        let score = bleu(&counted[0], &counted[1..].iter().collect::<Vec<_>>());
        // All words and pairs, five of six triples (not `cde`), two of five fours.
        let expected = (5.0 / 6.0 * 2.0 / 5.0_f64).powf(0.25);
        assert!((score - expected).abs() < 1e-12, "{score} {expected}");
    }

    #[test]
    fn equal_texts_score_one_and_lonely_ones_zero() {
        assert!((of(&["one two three four five"; 3]) - 1.0).abs() < 1e-12);
        assert_eq!(of(&["alone in the world of words"]), 0.0);
        assert_eq!(of(&["a b c d", "e f g h"]), 0.0);
    }
}
