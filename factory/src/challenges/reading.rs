//! What solvers make of texts without knowing what is asked: sizes, and hashed runs of characters.

use crate::media::Reading;
use tasks::stream::Stream;

/// Number of buckets of runs of three characters.
const BUCKETS: usize = 48;

/// The readings of a row of texts. It has no statistics to estimate.
pub(super) fn texts(cells: &[String]) -> Reading {
    let count = |test: fn(char) -> bool| -> f64 {
        cells.iter().flat_map(|cell| cell.chars()).filter(|c| test(*c)).count() as f64
    };
    let plain = vec![
        count(|_| true),
        count(char::is_whitespace),
        count(|c| c.is_ascii_digit()),
        count(char::is_uppercase),
    ];
    let mut buckets = vec![0.0; BUCKETS];
    for cell in cells {
        let characters: Vec<char> = cell.chars().collect();
        for run in characters.windows(3) {
            let run: String = run.iter().collect();
            buckets[bucket(&run)] += 1.0;
        }
    }
    let generic = [&plain[..], &buckets].concat();
    Reading { plain, generic, estimates: Vec::new() }
}

fn bucket(run: &str) -> usize {
    let buckets = BUCKETS as u64;
    usize::try_from(Stream::root(0).child(run).seed() % buckets).unwrap_or(0)
}
