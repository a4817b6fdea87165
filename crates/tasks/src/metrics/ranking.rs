//! Metrics of rankings. A row is an item of one query; `t` is how relevant each item is (0 is
//! not at all), `p` the score that ranks it, the highest first.
//!
//! Queries weigh the same whatever their size. A query without a relevant item scores 0, as in
//! scikit-learn's `ndcg_score` and in the MLE-bench competitions' MAP@k.

use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The mean over queries of `of_query(t, p)` on their rows, in the order of the rows.
pub fn mean_over_queries(
    t: &[u32],
    queries: &[String],
    p: &[f64],
    of_query: impl Fn(&[u32], &[f64]) -> f64,
) -> f64 {
    let mut groups: BTreeMap<&str, (Vec<u32>, Vec<f64>)> = BTreeMap::new();
    for (row, query) in queries.iter().enumerate() {
        let (grades, scores) = groups.entry(query).or_default();
        grades.push(t[row]);
        scores.push(p[row]);
    }
    let sum: f64 = groups.values().map(|(grades, scores)| of_query(grades, scores)).sum();
    sum / groups.len() as f64
}

/// The higher first; the two zeros are equal.
pub(super) fn descending(a: f64, b: f64) -> Ordering {
    // Adding 0 turns -0 into 0.
    (b + 0.0).total_cmp(&(a + 0.0))
}

/// The items from the highest score to the lowest, ties in the order of the answer file.
fn ranked(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| descending(p[*a], p[*b]));
    order
}

/// Σ hits(i) / i over the right identifiers among the first k guesses, i their rank and hits(i)
/// the right ones up to there, divided by min(k, number of right identifiers). Guesses differ from
/// each other. Without any right identifier: 0. [0, 1].
pub fn precision_of_ids(t: &[String], p: &[String], k: usize) -> f64 {
    let (mut hits, mut sum) = (0.0, 0.0);
    for (place, id) in p.iter().take(k).enumerate() {
        if t.contains(id) {
            hits += 1.0;
            sum += hits / (place + 1) as f64;
        }
    }
    sum / t.len().min(k).max(1) as f64
}

/// Σ hits(i) / i over the relevant items among the first k, i their rank and hits(i) the
/// relevant items up to there, divided by min(k, all relevant items). Ties stand in the order of
/// the answer file.
pub fn average_precision(t: &[u32], p: &[f64], k: usize) -> f64 {
    let relevant = t.iter().filter(|grade| **grade > 0).count();
    if relevant == 0 {
        return 0.0;
    }
    let (mut hits, mut sum) = (0.0, 0.0);
    for (place, item) in ranked(p).into_iter().take(k).enumerate() {
        if t[item] > 0 {
            hits += 1.0;
            sum += hits / (place + 1) as f64;
        }
    }
    sum / relevant.min(k) as f64
}

/// 1 / rank of the first relevant item (Voorhees 1999). Ties stand in the order of the answer
/// file.
pub fn reciprocal_rank(t: &[u32], p: &[f64]) -> f64 {
    let place = ranked(p).into_iter().position(|item| t[item] > 0);
    place.map_or(0.0, |place| 1.0 / (place + 1) as f64)
}

/// 1 / log2(1 + rank) for the first k ranks, 0 beyond (`place` counts from 0).
fn discount(place: usize, k: usize) -> f64 {
    if place < k { 1.0 / libm::log2((place + 2) as f64) } else { 0.0 }
}

/// DCG / DCG of the ideal order, with DCG = Σ grade / log2(1 + rank) over the first k ranks:
/// the gain is linear and items of equal score share their gains and discounts evenly, as in
/// scikit-learn's `ndcg_score` (Järvelin and Kekäläinen 2002; ties by McSherry and Najork 2008).
pub fn ndcg(t: &[u32], p: &[f64], k: usize) -> f64 {
    let mut ideal = t.to_vec();
    ideal.sort_unstable_by(|a, b| b.cmp(a));
    let best: f64 =
        ideal.iter().enumerate().map(|(place, grade)| f64::from(*grade) * discount(place, k)).sum();
    if best == 0.0 {
        return 0.0;
    }
    let (mut seen, mut gain) = (0, 0.0);
    for tie in ranked(p).chunk_by(|a, b| p[*a] == p[*b]) {
        let mean = tie.iter().map(|item| f64::from(t[*item])).sum::<f64>() / tie.len() as f64;
        gain += mean * (seen..seen + tie.len()).map(|place| discount(place, k)).sum::<f64>();
        seen += tie.len();
    }
    gain / best
}
