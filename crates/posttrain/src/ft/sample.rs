//! Training samples as a script leaves them in `data.json`: a list of objects in Alpaca's form.

use super::check::{ErrorClass, Rejection};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The file that a script writes.
pub const DATA: &str = "data.json";

/// One sample.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// What is asked.
    pub instruction: String,
    /// More of it; may be empty.
    #[serde(default)]
    pub input: String,
    /// The system message, which should be the scorer's; may be empty.
    #[serde(default)]
    pub system: String,
    /// What is to be answered.
    pub output: String,
}

/// Reads `data.json`.
///
/// # Errors
/// A rejection of the class `DATA` that names the first sample that is none.
///
/// # Examples
/// ```rust
/// use posttrain::ft::read_samples;
///
/// let samples = read_samples(br#"[{"instruction": "2 + 2?", "output": "It is 4."}]"#)?;
/// assert_eq!(samples[0].output, "It is 4.");
/// assert!(read_samples(b"[]").is_err());
/// # Ok::<(), posttrain::ft::Rejection>(())
/// ```
pub fn read_samples(bytes: &[u8]) -> Result<Vec<Sample>, Rejection> {
    let wrong = |message: String| Rejection::new(ErrorClass::Data, message);
    let values: Vec<serde_json::Value> = serde_json::from_slice(bytes).map_err(|error| {
        wrong(format!("`{DATA}` must be one list of JSON objects, and is not: {error}"))
    })?;
    if values.is_empty() {
        return Err(wrong(format!("`{DATA}` is an empty list; nothing was left to train on")));
    }
    let mut samples = Vec::with_capacity(values.len());
    for (place, value) in values.into_iter().enumerate() {
        let sample: Sample = serde_json::from_value(value).map_err(|error| {
            wrong(format!(
                "sample {place} of `{DATA}` must have `instruction` and `output`, may have `input` and \
                 `system`, all texts, and nothing else: {error}"
            ))
        })?;
        samples.push(sample);
    }
    for name in ["instruction", "output"] {
        let is_blank = |sample: &Sample| match name {
            "instruction" => sample.instruction.trim().is_empty(),
            _ => sample.output.trim().is_empty(),
        };
        let blank: Vec<usize> =
            (0..samples.len()).filter(|&place| is_blank(&samples[place])).collect();
        if let Some(first) = blank.first() {
            let (count, all) = (blank.len(), samples.len());
            return Err(wrong(format!(
                "`{name}` is empty in {count} of {all} samples, first in sample {first}; drop them, or \
                 fill it"
            )));
        }
    }
    Ok(samples)
}

/// The share of samples that stand before them already, in [0, 1].
pub(super) fn duplicate_share(samples: &[Sample]) -> f64 {
    let different: BTreeSet<&Sample> = samples.iter().collect();
    (samples.len() - different.len()) as f64 / samples.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_strictly() {
        for (text, expected) in [
            ("{}", "must be one list"),
            ("[{\"instruction\": \"a\", \"output\": \"b\"}", "must be one list"),
            ("[]", "is an empty list"),
            ("[{\"instruction\": \"a\"}]", "missing field `output`"),
            ("[{\"instruction\": \"a\", \"output\": 3}]", "sample 0"),
            (
                "[{\"instruction\": \"a\", \"output\": \"b\", \"label\": 1}]",
                "unknown field `label`",
            ),
            (
                "[{\"instruction\": \"a\", \"output\": \"b\"}, {\"instruction\": \" \", \"output\": \"b\"}]",
                "`instruction` is empty in 1 of 2 samples, first in sample 1",
            ),
        ] {
            let found = read_samples(text.as_bytes()).unwrap_err();
            assert_eq!(found.class, ErrorClass::Data);
            assert!(found.message.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn duplicates_are_counted_beyond_the_first() {
        let sample = |output: &str| Sample {
            instruction: "a".into(),
            input: String::new(),
            system: String::new(),
            output: output.into(),
        };
        let all = ["b", "b", "c", "b"].map(sample);
        assert_eq!(duplicate_share(&all), 0.5);
        assert_eq!(duplicate_share(&[]), 0.0);
    }
}
