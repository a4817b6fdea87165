//! Sizes as libtorch counts them.

/// libtorch counts in i64. Counts of tokens, rows and weights are far below its limit.
pub(crate) fn signed(count: usize) -> i64 {
    i64::try_from(count).expect("a count fits in i64")
}
