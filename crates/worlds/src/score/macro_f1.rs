//! F1 of classes, of which answers may name none.

use tasks::metrics::classification;

/// The mean over all `classes` of each one's F1, in [0, 1]; 0 for a class that occurs on neither
/// side. Classes are numbered from 0; `None` is an answer that names no class. 0 without rows.
///
/// # Examples
/// ```rust
/// use worlds::score::macro_f1;
///
/// assert_eq!(macro_f1(&[0, 1], &[Some(0), Some(1)], 2), 1.0);
/// assert_eq!(macro_f1(&[0, 1], &[Some(0), None], 2), 0.5);
/// ```
pub fn macro_f1(truth: &[usize], answers: &[Option<usize>], classes: usize) -> f64 {
    if truth.is_empty() || classes == 0 {
        return 0.0;
    }
    // An answer without a class is of one more class, whose own F1 does not count.
    let answers: Vec<usize> = answers.iter().map(|answer| answer.unwrap_or(classes)).collect();
    let f1 = |class| classification::f1(truth, &answers, class);
    (0..classes).map(f1).sum::<f64>() / classes as f64
}
