//! One finished run of an agent on a competition, as every report of a benchmark reads it.

use super::human_rank::BoardStanding;
use super::way::WayShares;
use agents::run::role::RoleUse;
use sandbox::env::Feedback;
use serde::{Deserialize, Serialize};
use std::fmt;
use tasks::mlebench::report::CompetitionReport;
use tasks::task::DataSource;
use tasks::thresholds::Milestone;

/// One run of an agent on a competition, from the first step to the grade.
///
/// # Examples
/// ```rust
/// use evals::bench::outcome::{BenchOutcome, BenchRun};
///
/// let line = r#"{
///     "competition": "spooky-author-identification", "agent": "aide/openai:some-model", "seed": 0,
///     "data": "real", "feedback": "validate", "outcome": {"fault": {"why": "the disk is full"}},
///     "selection_gap": null, "steps": 3, "seconds": {"script": 41.5, "player": 12.0, "wall": 55.0},
///     "tokens": {"read": 9000, "written": 1200}, "cost": 0.02
/// }"#;
/// let run: BenchRun = serde_json::from_str(line)?;
/// assert!(matches!(run.outcome, BenchOutcome::Fault { .. }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchRun {
    /// Name of the competition, as in its benchmark.
    pub competition: String,
    /// Scaffold and model, such as `aide/openai:some-model`.
    pub agent: String,
    /// The seed of the run's own draws.
    pub seed: u64,
    /// What the competition's files are.
    pub data: DataSource,
    /// What the agent was told of its score.
    pub feedback: Feedback,
    /// The grade, or what broke.
    pub outcome: BenchOutcome,
    /// Gain of the node that is best by the test score over the one that was submitted, at least
    /// 0, in the units of the metric. `None` for agents that choose among nothing, and where no
    /// node has a test score.
    pub selection_gap: Option<f64>,
    /// How far it came; only on tasks of ours, which have a ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<WayShares>,
    /// What would have counted had it ended after each step; empty where that was not graded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_step: Vec<StepGrade>,
    /// Nodes of a search, turns of a linear scaffold.
    pub steps: u64,
    /// Where the time went.
    pub seconds: RunSeconds,
    /// What the model read and wrote.
    pub tokens: PlayerTokens,
    /// In US dollars; `None` if the prices are not known.
    pub cost: Option<f64>,
    /// What each role used; empty of scaffolds without roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleUse>,
}

/// The grade of what would have counted had a run ended after a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepGrade {
    /// Active seconds at the end of the step.
    pub seconds: f64,
    /// As in [`GradedRun`].
    #[serde(with = "float")]
    pub score: Option<f64>,
    /// As in [`GradedRun`].
    pub medal: Option<Milestone>,
    /// As in [`GradedRun`].
    pub above_median: bool,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchOutcome {
    /// The submission, or that there is none, was graded.
    Graded(GradedRun),
    /// An error of ours. It counts in no percentage.
    Fault {
        /// What broke, for people.
        why: String,
    },
}

/// In words for people.
impl fmt::Display for BenchOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graded(GradedRun { score: Some(score), .. }) => write!(f, "score {score:.5}"),
            Self::Graded(_) => f.write_str("no valid submission"),
            Self::Fault { why } => write!(f, "fault: {why}"),
        }
    }
}

/// What the grader said: the fields of mle-bench's report that do not follow from the competition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GradedRun {
    /// To five decimals, also NaN or infinite; `None` exactly if there is no valid submission.
    #[serde(with = "float")]
    pub score: Option<f64>,
    /// The medal won: bronze, silver or gold.
    pub medal: Option<Milestone>,
    /// Whether the score is strictly better than the median.
    pub above_median: bool,
    /// Whether there is a file that ends in `.csv`.
    pub submission_exists: bool,
    /// When it was graded, as `tasks::mlebench::report::timestamp` writes it.
    pub created_at: String,
    /// Where the submission lies.
    pub submission_path: String,
    /// The place among people; `None` without leaderboards.
    pub human_rank: Option<BoardStanding>,
}

impl GradedRun {
    /// From the report that a native grader writes.
    pub fn from_report(report: &CompetitionReport) -> Self {
        Self {
            score: report.score,
            medal: report.medal(),
            above_median: report.above_median(),
            submission_exists: report.submission_exists,
            created_at: report.created_at.clone(),
            submission_path: report.submission_path.clone(),
            human_rank: None,
        }
    }

    /// Whether the grader took the submission.
    pub fn valid(&self) -> bool {
        self.score.is_some()
    }
}

/// Where the time of a run went, in seconds. Time during which the run was stopped is in none.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSeconds {
    /// In scripts.
    pub script: f64,
    /// Waiting for the model.
    pub player: f64,
    /// In all.
    pub wall: f64,
}

/// Tokens of all questions of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerTokens {
    /// In prompts.
    pub read: u64,
    /// In answers, thoughts included.
    pub written: u64,
}

/// A number that may be missing, with Python's words for what JSON has no number for.
mod float {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Word(String),
    }

    #[expect(clippy::ref_option, reason = "the signature that serde asks for")]
    pub(super) fn serialize<S: Serializer>(
        value: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let written = value.map(|value| match value {
            _ if value.is_nan() => Written::Word("NaN".to_owned()),
            f64::INFINITY => Written::Word("Infinity".to_owned()),
            f64::NEG_INFINITY => Written::Word("-Infinity".to_owned()),
            _ => Written::Number(value),
        });
        written.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        let Some(written) = Option::<Written>::deserialize(deserializer)? else {
            return Ok(None);
        };
        Ok(Some(match written {
            Written::Number(value) => value,
            Written::Word(word) => match word.as_str() {
                "NaN" => f64::NAN,
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                _ => {
                    let expected = "a number, null, \"NaN\", \"Infinity\" or \"-Infinity\"";
                    return Err(de::Error::invalid_value(de::Unexpected::Str(&word), &expected));
                }
            },
        }))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use agents::run::header::{JOURNAL_VERSION, RunHeader};
    use agents::run::node::BlobHash;
    use agents::run::python::PythonFacts;
    use jail::isolation::tier::IsolationLevel;
    use jail::limits::RunLimits;
    use std::collections::BTreeMap;
    use tasks::metrics::Direction;
    use tasks::task::TaskId;
    use tasks::units::ByteSize;

    /// The header of a run whose metric is an error.
    pub(crate) fn header() -> RunHeader {
        RunHeader {
            version: JOURNAL_VERSION,
            task: TaskId::new("task").unwrap(),
            direction: Direction::LowerIsBetter,
            public: BlobHash(String::new()),
            scaffold: "aide".to_owned(),
            settings: serde_json::Value::Null,
            player: "player".to_owned(),
            seed: 0,
            feedback: Feedback::Validate,
            data: DataSource::Synthetic,
            limits: RunLimits::default(),
            submission_limit: ByteSize::new(1),
            tier: IsolationLevel::T3,
            python: PythonFacts { version: String::new(), packages: BTreeMap::new() },
            weights: None,
            knowledge: None,
            guided: false,
        }
    }

    /// A run with nothing special about it, graded with this medal.
    pub(crate) fn run(
        agent: &str,
        competition: &str,
        seed: u64,
        medal: Option<Milestone>,
    ) -> BenchRun {
        BenchRun {
            competition: competition.to_owned(),
            agent: agent.to_owned(),
            seed,
            data: DataSource::Real,
            feedback: Feedback::Validate,
            outcome: BenchOutcome::Graded(GradedRun {
                score: Some(0.5),
                medal,
                above_median: medal.is_some(),
                submission_exists: true,
                created_at: "2026-01-02T03:04:05".to_owned(),
                submission_path: "submission.csv".to_owned(),
                human_rank: None,
            }),
            selection_gap: None,
            way: None,
            by_step: Vec::new(),
            steps: 10,
            seconds: RunSeconds { script: 60.0, player: 30.0, wall: 100.0 },
            tokens: PlayerTokens { read: 1000, written: 100 },
            cost: Some(0.25),
            roles: Vec::new(),
        }
    }

    #[test]
    fn run_keeps_scores_that_json_has_no_number_for() {
        for score in [None, Some(0.1), Some(f64::NAN), Some(f64::INFINITY), Some(-f64::INFINITY)] {
            let mut run = run("a", "c", 3, Some(Milestone::Gold));
            let BenchOutcome::Graded(graded) = &mut run.outcome else { unreachable!() };
            graded.score = score;
            let text = serde_json::to_string(&run).unwrap();
            let back: BenchRun = serde_json::from_str(&text).unwrap();
            let BenchOutcome::Graded(back) = back.outcome else { panic!("{text}") };
            assert_eq!(back.score.map(f64::to_bits), score.map(f64::to_bits), "{text}");
        }
        let text = serde_json::to_string(&run("a", "c", 3, None)).unwrap();
        let error = serde_json::from_str::<BenchRun>(&text.replace("0.5", "\"half\"")).unwrap_err();
        assert!(error.to_string().contains("expected a number, null, \"NaN\""), "{error}");
    }
}
