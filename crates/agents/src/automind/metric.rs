//! The validation score that a script reports: in `validation.json`, else in the last line
//! `validation: NUMBER` of what it printed.

use serde::Deserialize;

/// Scores that differ by more than this, relative to their size, are different ones.
const CLOSE: f64 = 1e-6;

/// A validation score, with those of its folds.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// The score, finite.
    pub metric: f64,
    /// Scores of folds, finite; may be none.
    pub folds: Vec<f64>,
}

#[derive(Deserialize)]
struct ValidationFile {
    metric: f64,
    #[serde(default)]
    folds: Vec<Option<f64>>,
}

/// What a script reports; `None` if that is nothing, or no finite number. A file that is there and
/// has no number in it is not made up for by a printed line.
///
/// # Examples
/// ```rust
/// use agents::automind::metric::validation;
///
/// let found = validation(Some(br#"{"metric": 1, "folds": [0.5, 1.5]}"#), "");
/// assert_eq!(found.map(|found| (found.metric, found.folds.len())), Some((1.0, 2)));
/// assert_eq!(validation(None, "validation: 0.25\n").map(|found| found.metric), Some(0.25));
/// assert_eq!(validation(Some(br#"{"metric": NaN}"#), "validation: 0.25\n"), None);
/// ```
pub fn validation(file: Option<&[u8]>, stdout: &str) -> Option<Validation> {
    let Some(file) = file else {
        let last = stdout.lines().rev().find_map(|line| line.trim().strip_prefix("validation:"))?;
        let metric = last.trim().parse().ok().filter(|metric: &f64| metric.is_finite())?;
        return Some(Validation { metric, folds: Vec::new() });
    };
    let ValidationFile { metric, folds } = serde_json::from_slice(file).ok()?;
    // A fold without a score says nothing of how much the others vary.
    let folds: Option<Vec<f64>> = folds.into_iter().collect();
    let folds = folds.filter(|folds| folds.iter().all(|fold| fold.is_finite()));
    metric.is_finite().then_some(Validation { metric, folds: folds.unwrap_or_default() })
}

/// Whether a judge read another score in the output than the script reports.
pub fn is_disputed(reported: f64, read: f64) -> bool {
    let size = reported.abs().max(read.abs());
    !read.is_finite() || (reported - read).abs() > CLOSE * size
}

/// The standard error of the mean of folds; `None` of fewer than two.
///
/// `sqrt(sum (f - mean)^2 / (n - 1) / n)`
pub fn standard_error(folds: &[f64]) -> Option<f64> {
    if folds.len() < 2 {
        return None;
    }
    let count = folds.len() as f64;
    let mean = folds.iter().sum::<f64>() / count;
    let spread = folds.iter().map(|fold| (fold - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some((spread / count).sqrt()).filter(|error| error.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_numbers_count_and_what_is_no_number_does_not() {
        let of =
            |file: &str| validation(Some(file.as_bytes()), "validation: 7\n").map(|v| v.metric);
        assert_eq!(of(r#"{"metric": 3}"#), Some(3.0));
        assert_eq!(of(r#"{"metric": -0.5, "folds": [], "note": "x"}"#), Some(-0.5));
        for wrong in [
            r#"{"metric": NaN}"#,
            r#"{"metric": Infinity}"#,
            r#"{"metric": 1e999}"#,
            r#"{"metric": null}"#,
            r#"{"metric": "0.5"}"#,
            r#"{"folds": [1]}"#,
            "0.5",
            "",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn folds_without_a_score_are_left_out_together() {
        let found = validation(Some(br#"{"metric": 1, "folds": [1, null, 3]}"#), "").unwrap();
        assert_eq!(found.folds, [0.0; 0]);
        assert_eq!(standard_error(&[1.0]), None);
        assert_eq!(standard_error(&[1.0, 3.0]), Some(1.0));
    }

    #[test]
    fn the_last_printed_line_is_taken_where_there_is_no_file() {
        let of = |stdout: &str| validation(None, stdout).map(|found| found.metric);
        assert_eq!(of("validation: 1\n  validation: 2 \nsaved\n"), Some(2.0));
        assert_eq!(of("validation: nan\n"), None);
        assert_eq!(of("validation: 1\nvalidation: about 2\n"), None);
        assert_eq!(of("validation score 1\n"), None);
    }

    #[test]
    fn scores_are_disputed_relative_to_their_size() {
        assert!(!is_disputed(1000.0, 1000.0005));
        assert!(is_disputed(0.001, 0.001_01));
        assert!(!is_disputed(0.0, 0.0));
        assert!(is_disputed(0.5, -0.5));
        assert!(is_disputed(0.5, f64::NAN));
    }

    proptest! {
        #[test]
        fn no_file_makes_the_reader_panic(file in any::<Vec<u8>>(), stdout in "\\PC{0,80}") {
            let _ = validation(Some(&file), &stdout);
            let _ = validation(None, &stdout);
        }
    }
}
