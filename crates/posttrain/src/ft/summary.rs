//! What a script says of its work: the last line that begins with `SUMMARY`.

use super::check::{ErrorClass, Rejection};
use serde::{Deserialize, Serialize};

/// The word before the summary.
pub const SUMMARY: &str = "SUMMARY ";

/// Counts of one run of a script.
///
/// # Examples
/// ```rust
/// use posttrain::ft::DataSummary;
///
/// let printed = "reading\nSUMMARY {\"raw\": 900, \"sampled\": 400, \"filters\": [{\"name\": \
///                \"long\", \"seen\": 400, \"kept\": 100}], \"written\": 100, \"estimate\": 100}\n";
/// let summary = DataSummary::read(printed)?;
/// assert_eq!(summary.retention(), 0.25);
/// # Ok::<(), posttrain::ft::Rejection>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSummary {
    /// Rows that were read.
    pub raw: u64,
    /// Rows that were looked at.
    pub sampled: u64,
    /// The filters in their order.
    pub filters: Vec<FilterCount>,
    /// Samples that were written.
    pub written: u64,
    /// Samples that a full run would write.
    pub estimate: u64,
}

/// What a filter did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FilterCount {
    /// Its name.
    pub name: String,
    /// Rows that came to it.
    pub seen: u64,
    /// Rows that it kept.
    pub kept: u64,
}

impl DataSummary {
    /// Finds it in what a script printed.
    ///
    /// # Errors
    /// A rejection of the class `DATA` if there is none, or one whose counts cannot be.
    pub fn read(printed: &str) -> Result<Self, Rejection> {
        let wrong = |why: String| {
            let form = "{\"raw\": 900, \"sampled\": 400, \"filters\": [{\"name\": \"long\", \"seen\": \
                        400, \"kept\": 100}], \"written\": 100, \"estimate\": 100}";
            Rejection::new(
                ErrorClass::Data,
                format!("the script must print a line such as `{SUMMARY}{form}`: {why}"),
            )
        };
        let mut lines = printed.lines().rev();
        let line = lines.find_map(|line| line.trim().strip_prefix(SUMMARY));
        let line = line.ok_or_else(|| wrong("there is none".to_owned()))?;
        let found: Self = serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        if let Some(filter) = found.filters.iter().find(|filter| filter.kept > filter.seen) {
            return Err(wrong(format!("the filter `{}` keeps more than it sees", filter.name)));
        }
        Ok(found)
    }

    /// The share of rows that all filters together keep, in [0, 1]: the product of their shares.
    pub fn retention(&self) -> f64 {
        let share = |filter: &FilterCount| match filter.seen {
            0 => 1.0,
            seen => filter.kept as f64 / seen as f64,
        };
        self.filters.iter().map(share).product()
    }

    /// The filters and their shares, for people.
    pub(super) fn filters_in_words(&self) -> String {
        let word =
            |filter: &FilterCount| format!("{} {} of {}", filter.name, filter.kept, filter.seen);
        self.filters.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_summary_counts_and_impossible_ones_are_refused() {
        let line = |filters: &str, written: u64| {
            format!(
                "SUMMARY {{\"raw\": 9, \"sampled\": 9, \"filters\": [{filters}], \"written\": {written}, \"estimate\": 3}}\n"
            )
        };
        let printed = line("", 1) + "noise\n" + &line("", 2);
        assert_eq!(DataSummary::read(&printed).unwrap().written, 2);
        for (printed, expected) in [
            ("done\n".to_owned(), "there is none"),
            ("SUMMARY {}\n".to_owned(), "missing field"),
            (line("{\"name\": \"a\", \"seen\": 1, \"kept\": 2}", 1), "keeps more than it sees"),
        ] {
            let found = DataSummary::read(&printed).unwrap_err();
            assert!(found.message.contains(expected), "{found}");
        }
    }

    #[test]
    fn retention_is_the_product_of_all_filters() {
        let filter = |seen, kept| FilterCount { name: String::new(), seen, kept };
        let of = |filters: Vec<FilterCount>| {
            DataSummary { raw: 1800, sampled: 1800, filters, written: 27, estimate: 27 }.retention()
        };
        assert!(
            (of(vec![filter(1800, 450), filter(450, 108), filter(108, 27)]) - 0.015).abs() < 1e-12
        );
        assert_eq!(of(vec![filter(0, 0)]), 1.0);
        assert_eq!(of(Vec::new()), 1.0);
    }
}
