//! The scorer of a task: a user's Python, run in the sandbox on one answer at a time, and if it has a
//! function `aggregate`, on what it said of all of them.

use crate::runner::{ProgramRules, ProgramRun};
use jail::exec::Outcome;
use serde::Deserialize;
use serde_json::{Value, json};
use tasks::task::TaskId;
use tasks::units::{ByteSize, Span};

/// What a scorer may use for one answer.
pub(super) const RULES: ProgramRules =
    ProgramRules { time_limit: Span::seconds(60), memory: ByteSize::mib(2048), module: None };

/// What runs it.
const AROUND: &str = include_str!("scorer.py");
/// Characters of what it printed that are told.
const TOLD: usize = 300;

/// What a scorer is asked about.
#[derive(Debug, Clone, Copy)]
pub struct Scorer<'a> {
    /// Its source.
    pub source: &'a str,
    /// The item.
    pub id: &'a TaskId,
    /// What the model was asked.
    pub prompt: &'a str,
    /// What the scorer compares with.
    pub truth: &'a Value,
}

/// What a scorer says of an answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Score {
    id: String,
    #[serde(rename = "score")]
    pub(super) value: f64,
    #[serde(default)]
    pub(super) tags: Vec<String>,
}

/// How a run of the scorer ended, as the script around it says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    Printed(String),
    Failed(String),
}

impl Scorer<'_> {
    /// The script that scores a prediction.
    pub(super) fn script(&self, prediction: &str) -> String {
        let Self { source, id, prompt, truth } = self;
        let line = json!({
            "id": id, "prompt": prompt, "prediction": prediction, "truth": truth,
        });
        // A text of JSON is a text of Python too.
        let (source, line) = (json!(source), json!(line.to_string()));
        format!("{AROUND}\n\ntell_score({source}, {line})\n")
    }

    /// What a run of that script says of the prediction, or what is wrong with the scorer.
    pub(super) fn read(&self, run: &ProgramRun) -> Result<Score, String> {
        let printed = printed(run)?;
        let mut lines = printed.lines().filter(|line| !line.trim().is_empty());
        let (Some(line), None) = (lines.next(), lines.next()) else {
            return Err(format!(
                "it is to print one line for the line that it reads, and printed {}",
                told(&printed)
            ));
        };
        let score: Score = serde_json::from_str(line).map_err(|error| {
            let form = "{\"id\": …, \"score\": …, \"tags\": […]}";
            format!("it is to print {form}, and printed {}: {error}", told(line))
        })?;
        if score.id != self.id.as_str() {
            return Err(format!(
                "it was asked about `{}`, and answered about `{}`",
                self.id, score.id
            ));
        }
        if !(0.0..=1.0).contains(&score.value) {
            return Err(format!("its score is {}, and must be from 0 to 1", score.value));
        }
        Ok(score)
    }
}

/// Whether a scorer says itself what the scores of all items come to, and not their mean counts.
pub(super) fn has_aggregate(source: &str) -> bool {
    source.lines().any(|line| line.starts_with("def aggregate("))
}

/// The script that has a scorer say what these items come to.
pub(super) fn aggregate_script(source: &str, items: &[Value]) -> String {
    // `true`, `false` and `null` have other names in Python, so the text is read there.
    let (source, items) = (json!(source), json!(json!(items).to_string()));
    format!("{AROUND}\n\ntell_aggregate({source}, json.loads({items}))\n")
}

/// What a run of that script says, or what is wrong with the scorer.
pub(super) fn read_aggregate(run: &ProgramRun) -> Result<f64, String> {
    let printed = printed(run)?;
    let score: Option<f64> = serde_json::from_str(&printed).ok();
    score
        .filter(|score| (0.0..=1.0).contains(score))
        .ok_or_else(|| format!("it is to be a number from 0 to 1, and is {}", told(&printed)))
}

/// What a scorer printed, or how it failed.
fn printed(run: &ProgramRun) -> Result<String, String> {
    match &run.outcome {
        Outcome::Finished => {}
        Outcome::TimedOut => return Err(format!("it did not end within {}", RULES.time_limit)),
        Outcome::OutOfMemory => {
            return Err(format!("it needs more than {} of memory", RULES.memory));
        }
        outcome => return Err(format!("it {outcome}")),
    }
    let last = run.printed.lines().last().unwrap_or_default();
    match serde_json::from_str(last) {
        Ok(Ended::Printed(printed)) => Ok(printed),
        Ok(Ended::Failed(why)) => Err(why),
        Err(_) => Err("it ended its own process".to_owned()),
    }
}

/// A text, cut.
fn told(text: &str) -> String {
    if text.trim().is_empty() {
        return "nothing".to_owned();
    }
    format!("`{}`", text.chars().take(TOLD).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_a_score_of_the_right_form_counts() {
        let (id, truth) = (TaskId::new("mine-dev-00000").unwrap(), json!(4));
        let scorer = Scorer { source: "", id: &id, prompt: "2 + 2?", truth: &truth };
        let said = |printed: &str| {
            let printed = format!("noise\n{}", json!({ "printed": printed }));
            scorer.read(&ProgramRun { outcome: Outcome::Finished, printed, wall: Duration::ZERO })
        };
        let good = said("\n{\"id\": \"mine-dev-00000\", \"score\": 0.5, \"tags\": [\"wrong\"]}\n");
        assert_eq!(good.unwrap().value, 0.5);
        for (printed, expected) in [
            ("", "printed nothing"),
            ("right", "and printed `right`"),
            ("{\"id\": \"mine-dev-00000\", \"score\": 1}\n{}", "is to print one line"),
            ("{\"id\": \"mine-dev-00000\", \"score\": 100}", "must be from 0 to 1"),
            ("{\"id\": \"mine-dev-00000\", \"score\": true}", "is to print {"),
            ("{\"id\": \"mine-dev-00001\", \"score\": 1}", "answered about `mine-dev-00001`"),
            ("{\"score\": 1}", "missing field `id`"),
        ] {
            let refused = said(printed).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
        for (outcome, expected) in [
            (Outcome::TimedOut, "it did not end within 60s"),
            (Outcome::OutOfMemory, "it needs more than 2GiB"),
            (Outcome::Finished, "it ended its own process"),
        ] {
            let run = ProgramRun { outcome, printed: String::new(), wall: Duration::ZERO };
            let refused = scorer.read(&run).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
}
