//! The verdict of an evaluator: the JSON object on its standard output.

use serde::Deserialize;
use tasks::metrics::Direction;
use tasks::thresholds::Thresholds;

/// The parsed output of an evaluator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum EvaluatorVerdict {
    /// It graded the submission.
    Graded {
        /// `None` if the score is not finite.
        score: Option<f64>,
        thresholds: Thresholds,
        direction: Direction,
    },
    /// It printed an object with an `error` that is not `null`: it refuses the submission. The
    /// message is not passed on, because it may quote the answers.
    Refused,
}

/// Output that is no verdict.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoVerdict {
    #[error("it printed no JSON object ({0})")]
    Json(#[from] serde_json::Error),
}

/// Other keys are ignored: the released scripts differ in what else they print.
#[derive(Deserialize)]
struct EvaluatorOutput {
    score: Option<f64>,
    gold_threshold: f64,
    silver_threshold: f64,
    bronze_threshold: f64,
    median_threshold: f64,
    is_lower_better: bool,
}

impl EvaluatorVerdict {
    /// Reads the whole of a standard output, which must be one object and nothing else.
    pub(super) fn parse(output: &str) -> Result<Self, NoVerdict> {
        let json = without_python_numbers(output);
        // By way of a map, since a structure is also read from an array.
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json)?;
        if object.get("error").is_some_and(|error| !error.is_null()) {
            return Ok(Self::Refused);
        }
        let raw = EvaluatorOutput::deserialize(serde_json::Value::Object(object))?;
        let thresholds = Thresholds {
            gold_threshold: raw.gold_threshold,
            silver_threshold: raw.silver_threshold,
            bronze_threshold: raw.bronze_threshold,
            median_threshold: raw.median_threshold,
        };
        let direction =
            if raw.is_lower_better { Direction::LowerIsBetter } else { Direction::HigherIsBetter };
        Ok(Self::Graded { score: raw.score, thresholds, direction })
    }
}

/// Python writes `NaN`, `Infinity` and `-Infinity` where JSON has no word: here they become
/// `null`, outside of texts.
fn without_python_numbers(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let (mut quoted, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !quoted
            && let Some(word) =
                ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| rest.starts_with(word))
        {
            written.push_str("null");
            rest = &rest[word.len()..];
            continue;
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        written.push(c);
        rest = &rest[c.len_utf8()..];
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(score: &str) -> String {
        format!(
            "{{\"score\": {score}, \"gold_threshold\": 0.9, \"silver_threshold\": 0.8, \
             \"bronze_threshold\": 0.7, \"median_threshold\": 0.6, \"is_lower_better\": false, \
             \"metric\": \"NaN \\\" NaN\"}}"
        )
    }

    #[test]
    fn a_verdict_is_one_object_and_nothing_else() {
        let EvaluatorVerdict::Graded { score, thresholds, direction } =
            EvaluatorVerdict::parse(&format!("\n{}\n", object("0.25"))).unwrap()
        else {
            panic!("it was graded");
        };
        assert_eq!((score, direction), (Some(0.25), Direction::HigherIsBetter));
        assert_eq!(thresholds.silver_threshold, 0.8);
        for text in ["NaN", "-Infinity", "Infinity", "null"] {
            let verdict = EvaluatorVerdict::parse(&object(text)).unwrap();
            assert!(matches!(verdict, EvaluatorVerdict::Graded { score: None, .. }), "{text}");
        }
        assert_eq!(
            EvaluatorVerdict::parse("{\"error\": \"no\"}").unwrap(),
            EvaluatorVerdict::Refused
        );
        let without =
            EvaluatorVerdict::parse(&object("1").replace("\"metric\"", "\"error\": null, \"m\""));
        assert!(matches!(without, Ok(EvaluatorVerdict::Graded { .. })), "{without:?}");
        for garbage in [
            "",
            "{\"error\": null}",
            "0.5",
            "warning\n{}",
            "{}",
            "[1]",
            &format!("{}{}", object("1"), object("1")),
            &object("\"1\""),
            &object("0.5").replace("0.8", "NaN"),
            &object("0.5").replace("false", "\"false\""),
        ] {
            assert!(EvaluatorVerdict::parse(garbage).is_err(), "{garbage}");
        }
    }

    proptest! {
        #[test]
        fn any_output_is_read_or_refused(text in "([{}\":,\\\\ ]|score|error|NaN|1|Infinity|é){0,40}") {
            let _ = EvaluatorVerdict::parse(&text);
        }

        #[test]
        fn texts_in_json_are_unchanged(text in any::<String>()) {
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(without_python_numbers(&json), json);
        }
    }
}
