//! BLEU on characters.

use std::collections::HashMap;

/// The longest runs that are compared.
const ORDER: usize = 4;

/// Corpus BLEU of texts as sequences of characters, in [0, 1]: the geometric mean of the shares of
/// runs of one to four characters that the truth has too, times `exp(1 - |truth| / |answer|)` where
/// answers are shorter. Papineni et al. 2002, as nltk computes it without smoothing: a share of 0
/// counts as the smallest positive number, unless it is that of single characters.
pub fn corpus_bleu(pairs: &[(&str, &str)]) -> f64 {
    let (mut hits, mut runs) = ([0_usize; ORDER], [0_usize; ORDER]);
    let (mut truths, mut answers) = (0, 0);
    for (truth, answer) in pairs {
        let (truth, answer): (Vec<char>, Vec<char>) =
            (truth.chars().collect(), answer.chars().collect());
        truths += truth.len();
        answers += answer.len();
        for order in 1..=ORDER {
            let (known, found) = (counts(&truth, order), counts(&answer, order));
            let clipped =
                |(run, count): (&&[char], &usize)| (*count).min(*known.get(run).unwrap_or(&0));
            hits[order - 1] += found.iter().map(clipped).sum::<usize>();
            // A pair without runs counts as one run.
            runs[order - 1] += answer.len().saturating_sub(order - 1).max(1);
        }
    }
    if hits[0] == 0 {
        return 0.0;
    }
    let brevity = if answers > truths { 1.0 } else { (1.0 - truths as f64 / answers as f64).exp() };
    let logarithm = |(&hits, &runs): (&usize, &usize)| {
        let share = if hits == 0 { f64::MIN_POSITIVE } else { hits as f64 / runs as f64 };
        share.ln() / ORDER as f64
    };
    brevity * hits.iter().zip(&runs).map(logarithm).sum::<f64>().exp()
}

/// How often each run of this length occurs.
fn counts(text: &[char], order: usize) -> HashMap<&[char], usize> {
    let mut counts = HashMap::new();
    for run in text.windows(order) {
        *counts.entry(run).or_default() += 1;
    }
    counts
}
