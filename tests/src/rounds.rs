//! How many random cases are compared with a reference.

/// The numbers of the cases of each kind, in rounds of as many as are compared at a time: one
/// round, or as many as it takes for the long run, `METRIC_CASES=10000 cargo test --release -p
/// tasks --test metrics --test mlebench agree`.
pub fn rounds() -> impl Iterator<Item = std::ops::Range<u64>> {
    const ROUND: u64 = 80;
    let asked = std::env::var("METRIC_CASES").map_or(ROUND, |count| count.parse().unwrap());
    (0..asked.div_ceil(ROUND)).map(|round| round * ROUND..(round + 1) * ROUND)
}
