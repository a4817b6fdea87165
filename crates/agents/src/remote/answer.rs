//! Answers of a server, as far as episodes depend on them.

use jail::exec::Outcome;
use sandbox::env::EpisodeResult;
use serde::Deserialize;
use serde_json::{Map, Value};
use tasks::grade::Grade;
use tasks::thresholds::Milestone;
use tasks::units::Span;

/// One message of a server.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub(super) enum Answer {
    Observation(StepAnswer),
    Error(ErrorAnswer),
}

/// Why a message could not be followed.
#[derive(Debug, Deserialize)]
pub(super) struct ErrorAnswer {
    pub(super) code: String,
    pub(super) message: String,
    /// Whether another session may be granted the same.
    #[serde(default)]
    pub(super) retryable: bool,
}

/// The answer to a reset or a step.
#[derive(Debug, Deserialize)]
pub(super) struct StepAnswer {
    pub(super) observation: Observation,
    pub(super) done: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Observation {
    /// What the agent reads, of a step.
    #[serde(default)]
    pub(super) result: String,
    pub(super) error: Option<ToolError>,
    #[serde(default)]
    pub(super) metadata: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ToolError {
    pub(super) error_type: String,
    pub(super) message: String,
}

/// What is said of an episode that begins.
#[derive(Debug, Deserialize)]
pub(super) struct Begun {
    pub(super) description: String,
    pub(super) reveal: String,
    /// The server's settings of episodes, as `EpisodeConfig` has them.
    pub(super) rules: Value,
    /// Time by which a step is answered.
    pub(super) answer_limit: Span,
    pub(super) public_hash: Option<String>,
}

/// What is said of a step.
#[derive(Debug, Deserialize)]
pub(super) struct StepMetadata {
    pub(super) outcome: Option<Outcome>,
    pub(super) seconds: f64,
    pub(super) depends_on_time: bool,
    pub(super) finish: Option<Finish>,
}

/// The end of an episode, with the score.
#[derive(Debug, Deserialize)]
pub(super) struct Finish {
    grade: Option<FinalGrade>,
    refusal: Option<String>,
}

#[derive(Debug, Deserialize)]
struct FinalGrade {
    score: f64,
    tier: Option<Milestone>,
}

impl From<Finish> for EpisodeResult {
    fn from(finish: Finish) -> Self {
        let grade = finish.grade.map(|FinalGrade { score, tier }| Grade { score, tier });
        Self { grade, refusal: finish.refusal }
    }
}

/// A step that was carried out.
#[derive(Debug)]
pub(super) struct RemoteStep {
    pub(super) text: String,
    pub(super) outcome: Option<Outcome>,
    pub(super) seconds: f64,
    pub(super) depends_on_time: bool,
    pub(super) done: bool,
    pub(super) finish: Option<EpisodeResult>,
}

impl TryFrom<StepAnswer> for RemoteStep {
    type Error = serde_json::Error;

    fn try_from(answer: StepAnswer) -> Result<Self, serde_json::Error> {
        let metadata: StepMetadata =
            serde_json::from_value(Value::Object(answer.observation.metadata))?;
        Ok(Self {
            text: answer.observation.result,
            outcome: metadata.outcome,
            seconds: metadata.seconds,
            depends_on_time: metadata.depends_on_time,
            done: answer.done,
            finish: metadata.finish.map(EpisodeResult::from),
        })
    }
}

/// The first key, with its path, whose value differs, and both values; `None` if there is none.
pub(super) fn difference(there: &Value, here: &Value) -> Option<(String, String, String)> {
    let (Value::Object(left), Value::Object(right)) = (there, here) else {
        return (there != here).then(|| (String::new(), there.to_string(), here.to_string()));
    };
    let missing = Value::Null;
    let keys: std::collections::BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    keys.into_iter().find_map(|key| {
        let [one, other] = [left, right].map(|rules| rules.get(key).unwrap_or(&missing));
        let (rest, there, here) = difference(one, other)?;
        let path = if rest.is_empty() { key.clone() } else { format!("{key}.{rest}") };
        Some((path, there, here))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn first_difference_is_named_with_its_path() {
        let rules = json!({"budget": {"turns": 8, "wall_seconds": 60}, "mode": "script"});
        assert_eq!(difference(&rules, &rules), None);
        let others = json!({"budget": {"turns": 15, "wall_seconds": 60}, "mode": "script"});
        let found = difference(&others, &rules).unwrap();
        assert_eq!(found, ("budget.turns".to_owned(), "15".to_owned(), "8".to_owned()));
        let found = difference(&json!({}), &json!({"mode": "script"})).unwrap();
        assert_eq!(found, ("mode".to_owned(), "null".to_owned(), "\"script\"".to_owned()));
    }

    #[test]
    fn answers_are_read_with_what_else_they_have() {
        let text = json!({"type": "observation", "data": {"done": true, "reward": 0.3,
            "observation": {"tool_name": "submit", "result": "over", "error": null, "metadata": {
                "turn": 2, "turns_left": 3, "outcome": {"outcome": "raised", "exception": "E"},
                "seconds": 0.25, "depends_on_time": false,
                "finish": {"valid": true, "grade": {"score": 0.1, "tier": "gold"}, "refusal": null}}}}});
        let Answer::Observation(answer) = serde_json::from_value(text).unwrap() else {
            panic!("an observation")
        };
        let step = RemoteStep::try_from(answer).unwrap();
        assert_eq!(step.outcome, Some(Outcome::Raised { exception: "E".to_owned() }));
        assert!(step.done && !step.depends_on_time);
        let grade = Grade { score: 0.1, tier: Some(Milestone::Gold) };
        assert_eq!(step.finish, Some(EpisodeResult { grade: Some(grade), refusal: None }));
        let text =
            json!({"type": "error", "data": {"code": "CAPACITY_REACHED", "message": "full"}});
        let Answer::Error(error) = serde_json::from_value(text).unwrap() else {
            panic!("an error")
        };
        assert!(!error.retryable);
    }
}
