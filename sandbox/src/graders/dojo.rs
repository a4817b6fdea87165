//! The grader of a competition of MLE-Dojo: the Python class of its metric, in a jail with the
//! answers, in a box that no agent's run shares.
//!
//! A metric that breaks does not show whether the submission or the task caused it. The sample
//! submission is then graded, or the answers themselves where there is none. If that works, the
//! submission is refused; if not, it is a fault of the task.

use super::evaluator_sandbox::EvaluatorSandbox;
use super::script::EvaluatorFault;
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::exec::Outcome;
use jail::limits::{Keep, RunLimits};
use serde::Deserialize;
use std::sync::Arc;
use tasks::grade::{Grade, GradeError, Grader};
use tasks::metrics::{Direction, Metric};
use tasks::submission::Part;
use tasks::task::{DOJO_ANSWERS, DojoCompetition, PublicDir, TaskId};
use tasks::thresholds::Thresholds;
use tasks::units::{ByteSize, Span};

const DRIVER: &str = include_str!("../../python/metric.py");
/// What a metric may take: some go over millions of rows in Python.
const TIME_LIMIT: Span = Span::seconds(900);
const MEMORY: ByteSize = ByteSize::gib(8);
/// The largest submission that is passed on.
const SUBMISSION_LIMIT: usize = 128 << 20;
/// A file that is placed in a work dir has at most 64 MiB.
const PART: usize = 32 << 20;
/// Characters of a metric's own words that an agent is told.
const WORDS: usize = 500;
/// A verdict is a short JSON object.
const OUTPUT: Keep = Keep { head: ByteSize::kib(64), tail: ByteSize::kib(4) };

/// A metric whose file could be run, and which way its scores improve.
#[derive(Debug)]
pub(super) struct DojoMetric {
    task: TaskId,
    metric: Vec<u8>,
    direction: Direction,
    /// A file that it must be able to grade.
    proof: Utf8PathBuf,
}

/// What the driver prints.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MetricVerdict {
    higher_is_better: bool,
    /// `None` where it is not finite, or nothing was to be graded.
    score: Option<f64>,
    /// Why the metric refuses the submission.
    invalid: Option<String>,
}

impl DojoMetric {
    fn open(
        competition: &DojoCompetition,
        public: &PublicDir,
        evaluators: &EvaluatorSandbox,
    ) -> Result<Self, EvaluatorFault> {
        let metric = fs::read(competition.metric())?;
        let answers = competition.answers().path().join(DOJO_ANSWERS);
        let proof = sample(public.path())?.unwrap_or(answers);
        let task = competition.id().clone();
        let opened = Self { task, metric, direction: Direction::HigherIsBetter, proof };
        let verdict = opened.run(evaluators, None)?;
        let direction = if verdict.higher_is_better {
            Direction::HigherIsBetter
        } else {
            Direction::LowerIsBetter
        };
        Ok(Self { direction, ..opened })
    }

    /// What the metric says of a submission; without one, which way it improves.
    fn run(
        &self,
        evaluators: &EvaluatorSandbox,
        csv: Option<&[u8]>,
    ) -> Result<MetricVerdict, EvaluatorFault> {
        let workspace = evaluators.sandbox()?.workspace(&self.task)?;
        let place = |name: &str, bytes: &[u8]| {
            workspace
                .place(name, bytes)
                .map_err(|error| EvaluatorFault::Io(std::io::Error::other(error)))
        };
        place("metric.py", &self.metric)?;
        let mut parts = Vec::new();
        // An empty submission is still one.
        let chunks = csv.into_iter().flat_map(|csv| {
            let mut chunks: Vec<&[u8]> = csv.chunks(PART).collect();
            if chunks.is_empty() {
                chunks.push(&[]);
            }
            chunks
        });
        for (index, chunk) in chunks.enumerate() {
            let name = format!("submission.{index}");
            place(&name, chunk)?;
            parts.push(name);
        }
        let given = serde_json::json!({
            "metric": "metric.py",
            "answers": format!("input/{DOJO_ANSWERS}"),
            "parts": parts,
        });
        // A JSON text in a JSON text: Python reads the outer one as a string literal.
        let literal = serde_json::Value::String(given.to_string());
        let code = format!("GIVEN = {literal}\n{DRIVER}");
        let limits = RunLimits {
            time_limit: TIME_LIMIT,
            memory: MEMORY,
            stdout: OUTPUT,
            ..RunLimits::default()
        };
        let run = workspace.run(&code, &limits)?;
        match run.outcome {
            Outcome::Finished => serde_json::from_str(&run.stdout.text()).map_err(|error| {
                EvaluatorFault::Garbage(format!("it printed no verdict ({error})"))
            }),
            outcome => {
                let complaints = run.stderr.text();
                let last = complaints.lines().rfind(|line| !line.trim().is_empty());
                let detail = last.unwrap_or("it said nothing").to_owned();
                Err(EvaluatorFault::Ended { outcome, detail })
            }
        }
    }

    /// Whether it grades the file that it must be able to grade.
    fn holds(&self, evaluators: &EvaluatorSandbox) -> bool {
        let graded = fs::read(&self.proof)
            .map_err(EvaluatorFault::Io)
            .and_then(|csv| self.run(evaluators, Some(&csv)));
        matches!(graded, Ok(MetricVerdict { score: Some(_), .. }))
    }
}

/// The sample submission among the public files.
fn sample(public: &Utf8Path) -> std::io::Result<Option<Utf8PathBuf>> {
    let mut found = Vec::new();
    for entry in public.read_dir_utf8()? {
        let entry = entry?;
        let name = entry.file_name().to_lowercase();
        let is_table = Utf8Path::new(&name).extension() == Some("csv");
        if is_table && name.starts_with("sample") && name.contains("submission") {
            found.push(entry.path().to_owned());
        }
    }
    Ok(found.into_iter().min())
}

/// A metric at work.
#[derive(Debug)]
pub(super) struct DojoGrader {
    evaluators: Arc<EvaluatorSandbox>,
    metric: Arc<DojoMetric>,
}

impl DojoGrader {
    /// Runs the metric's file, unless that was done since the task was opened.
    ///
    /// # Errors
    /// [`GradeError::Evaluator`].
    pub(super) fn open(
        competition: &DojoCompetition,
        public: &PublicDir,
        evaluators: &Arc<EvaluatorSandbox>,
    ) -> Result<Self, GradeError> {
        let task = competition.id();
        let metric = evaluators
            .metric(task, || DojoMetric::open(competition, public, evaluators))
            .map_err(|source| fault(task, source))?;
        Ok(Self { evaluators: Arc::clone(evaluators), metric })
    }
}

fn fault(task: &TaskId, source: EvaluatorFault) -> GradeError {
    GradeError::Evaluator { task: task.clone(), source: Box::new(source) }
}

impl Grader for DojoGrader {
    fn grade(&self, csv: &[u8], _: Part) -> Result<Grade, GradeError> {
        if csv.len() > SUBMISSION_LIMIT {
            let size = ByteSize::new(SUBMISSION_LIMIT as u64);
            return Err(GradeError::Refused(format!(
                "it has {} bytes, and the metric of this competition is given {size} at most",
                csv.len()
            )));
        }
        let verdict = match self.metric.run(&self.evaluators, Some(csv)) {
            Ok(verdict) => verdict,
            Err(failure @ (EvaluatorFault::Ended { .. } | EvaluatorFault::Garbage(_)))
                if self.metric.holds(&self.evaluators) =>
            {
                // For the operator alone: the metric's own words may quote the answers.
                tracing::info!(task = %self.metric.task, %failure, "a submission broke the metric");
                return Err(GradeError::Refused(
                    "the competition's metric breaks on its values, though not on those of the \
                     sample submission; write values of the same kind"
                        .to_owned(),
                ));
            }
            Err(source) => return Err(fault(&self.metric.task, source)),
        };
        match verdict {
            MetricVerdict { invalid: Some(why), .. } => {
                Err(GradeError::Refused(why.chars().take(WORDS).collect()))
            }
            MetricVerdict { score: None, .. } => Err(GradeError::NoScore),
            MetricVerdict { score: Some(score), .. } => Ok(Grade { score, tier: None }),
        }
    }

    fn memory(&self, size: u64) -> u64 {
        // The bytes themselves; the jail holds the copy that is graded.
        size.saturating_add(1 << 20)
    }

    fn thresholds(&self) -> Thresholds {
        Thresholds::unreachable(self.metric.direction)
    }

    fn direction(&self) -> Direction {
        self.metric.direction
    }

    fn metric(&self) -> Option<Metric> {
        None
    }
}
