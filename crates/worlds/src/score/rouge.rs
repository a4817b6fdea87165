//! ROUGE-L: how much of a text is in another one in the same order.

/// The words of a text as `rouge-score` reads them without its stemmer: runs of ASCII letters and
/// digits, in lower case.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// F1 of the longest common subsequence of words, in [0, 1].
///
/// `P = LCS / |answer|`, `R = LCS / |truth|`, `F1 = 2 P R / (P + R)`. Lin 2004, with equal weights,
/// as `rouge-score` has it; 0 where a side has no words.
pub fn rouge_l(truth: &str, answer: &str) -> f64 {
    let (truth, answer) = (words(truth), words(answer));
    let common = longest_common(&truth, &answer) as f64;
    if common == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (common / answer.len() as f64, common / truth.len() as f64);
    2.0 * precision * recall / (precision + recall)
}

/// The length of the longest common subsequence.
fn longest_common(a: &[String], b: &[String]) -> usize {
    // `row[j]` is the length for what was read of `a` and the first `j` words of `b`.
    let mut row = vec![0; b.len() + 1];
    for word in a {
        let mut diagonal = 0;
        for (j, other) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if word == other { diagonal + 1 } else { above.max(row[j]) };
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}
