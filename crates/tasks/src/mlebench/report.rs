//! What grading ends in: MLE-bench's report of one submission, and that of many, as JSON key by
//! key in its order.

use super::board::Board;
use super::python;
use crate::metrics::Direction;
use crate::thresholds::Milestone;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The report of one submission.
///
/// # Examples
/// ```rust
/// use tasks::mlebench::board::Board;
/// use tasks::mlebench::report::{CompetitionReport, aggregate};
/// use tasks::thresholds::Milestone;
///
/// let report = CompetitionReport {
///     competition_id: "some-competition".to_owned(),
///     score: Some(0.25),
///     board: Board::from_scores(&[0.1, 0.2, 0.3, 0.4, 0.5])?,
///     submission_exists: true,
///     created_at: "2026-01-02T03:04:05".to_owned(),
///     submission_path: "submission.csv".to_owned(),
/// };
/// assert_eq!(report.medal(), None);
/// assert!(report.above_median());
/// assert!(aggregate(&[report]).contains("\"total_above_median\": 1"));
/// # Ok::<(), tasks::mlebench::board::BoardError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CompetitionReport {
    /// Name of the competition, as in MLE-bench.
    pub competition_id: String,
    /// To five decimals, also NaN or infinite; nothing for a submission that is missing or was
    /// refused.
    pub score: Option<f64>,
    /// What the score is compared with.
    pub board: Board,
    /// Whether there is a file that ends in `.csv`.
    pub submission_exists: bool,
    /// When, as [`timestamp`] writes it.
    pub created_at: String,
    /// The path as given.
    pub submission_path: String,
}

impl CompetitionReport {
    /// The medal won, the best if several.
    pub fn medal(&self) -> Option<Milestone> {
        let Board { thresholds, direction } = self.board;
        let tier = thresholds.tier(self.score?, direction);
        // The median is passed below, not met.
        tier.filter(|tier| *tier != Milestone::Median)
    }

    /// Whether the score is strictly better than the median.
    pub fn above_median(&self) -> bool {
        let Board { thresholds, direction } = self.board;
        self.score.is_some_and(|score| direction.better(score, thresholds.median_threshold))
    }

    /// The JSON object, as Python writes it with so many spaces of indentation.
    pub fn to_json(&self, indent: usize) -> String {
        object(&self.fields(), indent, 0)
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        let thresholds = &self.board.thresholds;
        let medal = self.medal();
        let won = |tier| (medal == Some(tier)).to_string();
        vec![
            ("competition_id", text(&self.competition_id)),
            ("score", self.score.map_or_else(|| "null".to_owned(), number)),
            ("gold_threshold", number(thresholds.gold_threshold)),
            ("silver_threshold", number(thresholds.silver_threshold)),
            ("bronze_threshold", number(thresholds.bronze_threshold)),
            ("median_threshold", number(thresholds.median_threshold)),
            ("any_medal", medal.is_some().to_string()),
            ("gold_medal", won(Milestone::Gold)),
            ("silver_medal", won(Milestone::Silver)),
            ("bronze_medal", won(Milestone::Bronze)),
            ("above_median", self.above_median().to_string()),
            ("submission_exists", self.submission_exists.to_string()),
            ("valid_submission", self.score.is_some().to_string()),
            ("is_lower_better", (self.board.direction == Direction::LowerIsBetter).to_string()),
            ("created_at", text(&self.created_at)),
            ("submission_path", text(&self.submission_path)),
        ]
    }
}

/// The JSON object of many runs, with its two spaces of indentation.
pub fn aggregate(reports: &[CompetitionReport]) -> String {
    let count = |holds: fn(&CompetitionReport) -> bool| {
        reports.iter().filter(|report| holds(report)).count().to_string()
    };
    let indent = 2;
    let list: Vec<String> = reports
        .iter()
        .map(|report| format!("    {}", object(&report.fields(), indent, 2)))
        .collect();
    let list =
        if list.is_empty() { "[]".to_owned() } else { format!("[\n{}\n  ]", list.join(",\n")) };
    let fields = [
        ("total_runs", reports.len().to_string()),
        ("total_runs_with_submissions", count(|report| report.submission_exists)),
        ("total_valid_submissions", count(|report| report.score.is_some())),
        ("total_medals", count(|report| report.medal().is_some())),
        ("total_gold_medals", count(|report| report.medal() == Some(Milestone::Gold))),
        ("total_silver_medals", count(|report| report.medal() == Some(Milestone::Silver))),
        ("total_bronze_medals", count(|report| report.medal() == Some(Milestone::Bronze))),
        ("total_above_median", count(CompetitionReport::above_median)),
        ("competition_reports", list),
    ];
    object(&fields, indent, 0)
}

/// An object at some depth of indentation, with values already written.
fn object(fields: &[(&'static str, String)], indent: usize, depth: usize) -> String {
    let (inner, outer) = (indent * (depth + 1), indent * depth);
    let lines: Vec<String> =
        fields.iter().map(|(key, value)| format!("{:inner$}\"{key}\": {value}", "")).collect();
    format!("{{\n{}\n{:outer$}}}", lines.join(",\n"), "")
}

/// A number, with Python's words for what JSON has none for.
fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        python::repr(value)
    }
}

/// A text in printable ASCII.
fn text(value: &str) -> String {
    let mut written = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => written.push_str("\\\""),
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            '\u{8}' => written.push_str("\\b"),
            '\u{c}' => written.push_str("\\f"),
            ' '..='~' => written.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    written.extend(format!("\\u{unit:04x}").chars());
                }
            }
        }
    }
    written.push('"');
    written
}

/// A moment in ISO 8601, in UTC and without a zone, with microseconds unless they are zero. The
/// original writes local time, which is UTC in its containers.
pub fn timestamp(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let (days, seconds) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let date = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    match since.subsec_micros() {
        0 => date,
        micros => format!("{date}.{micros:06}"),
    }
}

/// Year, month and day of a number of days since 1970 (Hinnant 2013, `civil_from_days`, for
/// days that are not negative).
fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from 1 March of the year 0, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::Thresholds;

    fn report(score: Option<f64>) -> CompetitionReport {
        let thresholds = Thresholds {
            gold_threshold: 0.9,
            silver_threshold: 0.8,
            bronze_threshold: 0.7,
            median_threshold: 0.7,
        };
        CompetitionReport {
            competition_id: "a".to_owned(),
            score,
            board: Board { thresholds, direction: Direction::HigherIsBetter },
            submission_exists: true,
            created_at: "2026-01-02T03:04:05".to_owned(),
            submission_path: "runs/é\u{7f}😀.csv".to_owned(),
        }
    }

    #[test]
    fn the_object_has_the_keys_of_the_original_in_their_order() {
        insta::assert_snapshot!(report(Some(0.00001)).to_json(4));
    }

    #[test]
    fn many_reports_are_counted_and_listed() {
        assert!(aggregate(&[]).ends_with("\"competition_reports\": []\n}"));
        insta::assert_snapshot!(aggregate(&[report(None), report(Some(0.95))]));
    }

    #[test]
    fn medals_include_their_thresholds_and_the_median_does_not() {
        let won = |score| (report(score).medal(), report(score).above_median());
        assert_eq!(won(Some(0.9)), (Some(Milestone::Gold), true));
        assert_eq!(won(Some(0.89999)), (Some(Milestone::Silver), true));
        assert_eq!(won(Some(0.7)), (Some(Milestone::Bronze), false));
        assert_eq!(won(Some(0.69999)), (None, false));
        assert_eq!(won(Some(f64::NAN)), (None, false));
        assert_eq!(won(Some(f64::INFINITY)), (Some(Milestone::Gold), true));
        assert_eq!(won(None), (None, false));
    }

    #[test]
    fn values_without_a_json_form_are_written_as_in_python() {
        let score = |score| report(Some(score)).to_json(0);
        assert!(score(f64::NAN).contains("\"score\": NaN,"));
        assert!(score(f64::NEG_INFINITY).contains("\"score\": -Infinity,"));
    }

    #[test]
    fn moments_are_written_to_the_microsecond() {
        let at = |micros| timestamp(UNIX_EPOCH + Duration::from_micros(micros));
        assert_eq!(at(0), "1970-01-01T00:00:00");
        assert_eq!(at(951_827_696_000_001), "2000-02-29T12:34:56.000001");
        assert_eq!(at(1_735_689_599_000_000), "2024-12-31T23:59:59");
    }
}
