//! A leaderboard of ten rows from which MLE-bench reads a task's milestones.
//!
//! With fewer than 100 rows it takes gold from row ⌊n/10⌋, silver from row ⌊n/5⌋, bronze from
//! row ⌊2n/5⌋ and the median as the ordinary median, and says that lower is better where the
//! first row's score is smaller than the last's. With ten rows that is row 1, row 2, row 4 and
//! the mean of rows 5 and 6.
//!
//! Scores are rounded to five decimals before they are compared, thresholds are not. So the rows
//! are rounded too: a score that reaches a milestone here then reaches it there, and the only
//! ones it grants besides are within 1e-5. Our median is reached by a tie, theirs must be passed.

use std::fmt::Write as _;
use tasks::thresholds::Thresholds;

/// Decimals to which MLE-bench rounds scores.
const DECIMALS: usize = 5;

/// Columns of every leaderboard; only `score` is read.
const HEADER: &str = "scoreNullable,teamId,hasTeamName,submissionDate,score,hasScore\n";

/// No date matters, and a fixed one keeps exports the same.
const DATE: &str = "2000-01-01T00:00:00Z";

/// The rows' scores, best first; `last` is the score of a submission that knows nothing.
pub fn scores(thresholds: &Thresholds, last: f64) -> [f64; 10] {
    let Thresholds { gold_threshold, silver_threshold, bronze_threshold, median_threshold } =
        *thresholds;
    let [gold, silver, bronze, median, last] =
        [gold_threshold, silver_threshold, bronze_threshold, median_threshold, last]
            .map(|score| crate::numeric::rounding::round(score, DECIMALS));
    [gold, silver, bronze, bronze, median, median, last, last, last, last]
}

/// Whether the milestones are still apart once rounded.
pub fn distinct(scores: &[f64; 10]) -> bool {
    [(0, 1), (1, 3), (3, 4), (5, 9)].into_iter().all(|(one, other)| scores[one] != scores[other])
}

/// The text of `leaderboard.csv`: a header and one line per score.
pub fn csv(scores: &[f64; 10]) -> String {
    let mut text = HEADER.to_owned();
    for (row, score) in scores.iter().enumerate() {
        let _ = writeln!(text, "{score},{},True,{DATE},{score},True", row + 1);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milestones_lie_where_they_are_looked_for() {
        let thresholds = Thresholds {
            gold_threshold: 0.127_229,
            silver_threshold: 0.189_338,
            bronze_threshold: 0.251_447,
            median_threshold: 0.307_792,
        };
        let rows = scores(&thresholds, 0.354_721);
        let n = rows.len();
        assert_eq!(rows[n / 10 - 1], 0.127_23);
        assert_eq!(rows[n / 5 - 1], 0.189_34);
        assert_eq!(rows[2 * n / 5 - 1], 0.251_45);
        assert_eq!(f64::midpoint(rows[4], rows[5]), 0.307_79);
        assert!(rows.is_sorted() && rows[0] < rows[9] && distinct(&rows));
        assert!(csv(&rows).contains("\n0.25145,4,True,2000-01-01T00:00:00Z,0.25145,True\n"));
    }

    #[test]
    fn milestones_too_close_to_tell_apart_are_noticed() {
        let thresholds = Thresholds {
            gold_threshold: 0.000_012,
            silver_threshold: 0.000_013,
            bronze_threshold: 0.1,
            median_threshold: 0.2,
        };
        assert!(!distinct(&scores(&thresholds, 0.3)));
    }
}
