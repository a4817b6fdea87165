//! A bundle's own script as a judge: it runs jailed, beside the answers, in a box that no agent's
//! run shares, and only the JSON object that it prints counts.
//!
//! The paper's release has it graded over the whole test set; here the rows of a part are taken
//! out of submission and answers before the script sees either.

use super::Judge;
use super::evaluators::Evaluators;
use super::sample::Sample;
use super::verdict::Verdict;
use crate::exec::{Fault, Outcome, Run, StartError};
use crate::grade::{Direction, Grade, GradeError, Thresholds};
use crate::metrics::Metric;
use crate::policy::{ByteSize, Keep, Policy, Span};
use crate::submission::{Part, SubmissionError};
use crate::task::{ANSWERS, Bundle, EVALUATOR, SAMPLE, TaskId};
use fs_err as fs;
use std::sync::Arc;

/// The largest submission that is passed on, which is ample for tasks of a few hundred rows.
const SUBMISSION_LIMIT: usize = 8 << 20;
/// What a script may take; the released ones need a second or two, for their imports.
const TIME_LIMIT: Span = Span::seconds(30);
/// What of its output is read; a verdict is a few hundred bytes.
const OUTPUT: Keep = Keep { head: ByteSize::kib(64), tail: ByteSize::kib(4) };
/// Sets the script up among the bundle's files, with the answers and the submission it is to see.
const DRIVER: &str = include_str!("../../python/evaluate.py");

/// An evaluator did not do its work. Whatever the submission was, it is not to blame: its form
/// was checked before.
#[derive(Debug, thiserror::Error)]
pub enum EvaluatorFault {
    /// Its box cannot be built.
    #[error("the box for evaluators did not start")]
    Start(#[from] StartError),
    /// Its run failed.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A file of the bundle cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The sample submission or the answers are no table.
    #[error("its sample submission or its answers cannot be used")]
    Table(#[source] SubmissionError),
    /// It crashed, hung or used too much.
    #[error("it {outcome}: {detail}")]
    Ended {
        /// Its ending.
        outcome: Outcome,
        /// The last line of its complaints.
        detail: String,
    },
    /// It printed something else.
    #[error("{0}")]
    Garbage(String),
    /// It refuses the bundle's own sample submission, or cannot score it.
    #[error("it does not grade the bundle's own sample submission")]
    SampleRefused,
    /// Its thresholds are not what they were.
    #[error("it gave other thresholds than for the sample submission")]
    Inconsistent,
}

/// A bundle's evaluator at work.
#[derive(Debug)]
pub struct Evaluator {
    task: TaskId,
    evaluators: Arc<Evaluators>,
    sample: Sample,
    answers: Vec<u8>,
    thresholds: Thresholds,
    direction: Direction,
}

impl Evaluator {
    /// Has the evaluator grade the bundle's own sample submission, which shows that it works and
    /// what its thresholds are.
    ///
    /// # Errors
    /// [`GradeError::Evaluator`].
    pub(crate) fn open(bundle: &Bundle, evaluators: &Arc<Evaluators>) -> Result<Self, GradeError> {
        let task = bundle.id().clone();
        Self::prove(bundle, evaluators).map_err(|source| GradeError::Evaluator { task, source })
    }

    fn prove(bundle: &Bundle, evaluators: &Arc<Evaluators>) -> Result<Self, EvaluatorFault> {
        let read = |name: &str| fs::read(bundle.whole().path().join(name));
        let (example, answers) = (read(SAMPLE)?, read(ANSWERS)?);
        let sample = Sample::read(&example, &answers).map_err(EvaluatorFault::Table)?;
        let unknown = f64::NAN;
        let mut evaluator = Self {
            task: bundle.id().clone(),
            evaluators: Arc::clone(evaluators),
            sample,
            answers,
            thresholds: Thresholds {
                gold_threshold: unknown,
                silver_threshold: unknown,
                bronze_threshold: unknown,
                median_threshold: unknown,
            },
            direction: Direction::HigherIsBetter,
        };
        match evaluator.evaluate(&example, Part::All)? {
            Verdict::Graded { score: Some(_), thresholds, direction } => {
                evaluator.thresholds = thresholds;
                evaluator.direction = direction;
                Ok(evaluator)
            }
            Verdict::Graded { score: None, .. } | Verdict::Refused => {
                Err(EvaluatorFault::SampleRefused)
            }
        }
    }

    /// What the script says of a submission of the right form.
    fn evaluate(&self, csv: &[u8], part: Part) -> Result<Verdict, EvaluatorFault> {
        let rows = |csv: &[u8]| {
            let rows = self.sample.take(csv, part).map_err(EvaluatorFault::Table)?;
            // Read as a table before, so it is UTF-8.
            Ok::<_, EvaluatorFault>(String::from_utf8_lossy(&rows).into_owned())
        };
        let given = serde_json::json!({
            "evaluator": EVALUATOR,
            "answers_name": ANSWERS,
            "answers": rows(&self.answers)?,
            "submission": rows(csv)?,
        });
        // A JSON text in a JSON text: Python reads the outer one as a string literal.
        let literal = serde_json::Value::String(given.to_string());
        let code = format!("GIVEN = {literal}\n{DRIVER}");
        let policy = Policy { time_limit: TIME_LIMIT, stdout: OUTPUT, ..Policy::default() };
        let run = self.evaluators.sandbox()?.workspace(&self.task)?.run(&code, &policy)?;
        verdict(&run)
    }
}

fn verdict(run: &Run) -> Result<Verdict, EvaluatorFault> {
    let parsed = match run.stdout.omitted() {
        0 => Verdict::parse(&run.stdout.text()).map_err(|error| error.to_string()),
        more => Err(format!("it printed {more} bytes more than are read")),
    };
    match (&run.outcome, parsed) {
        (Outcome::Finished, Ok(verdict)) => Ok(verdict),
        // Scripts that refuse a submission often end with an exit code as well.
        (Outcome::Exited { .. }, Ok(Verdict::Refused)) => Ok(Verdict::Refused),
        (Outcome::Finished, Err(garbage)) => Err(EvaluatorFault::Garbage(garbage)),
        (outcome, _) => {
            let complaints = run.stderr.text();
            let last = complaints.lines().rfind(|line| !line.trim().is_empty());
            Err(EvaluatorFault::Ended {
                outcome: outcome.clone(),
                detail: last.unwrap_or("it said nothing").to_owned(),
            })
        }
    }
}

impl Judge for Evaluator {
    fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError> {
        let fault = |source| GradeError::Evaluator { task: self.task.clone(), source };
        if csv.len() > SUBMISSION_LIMIT {
            let size = ByteSize::new(SUBMISSION_LIMIT as u64);
            return Err(GradeError::Refused(format!(
                "it has {} bytes, and the evaluator of this task is given {size} at most",
                csv.len()
            )));
        }
        self.sample.check(csv)?;
        match self.evaluate(csv, part).map_err(fault)? {
            Verdict::Refused => {
                let why = "the task's evaluator does not accept its values".to_owned();
                Err(GradeError::Refused(why))
            }
            Verdict::Graded { thresholds, direction, .. }
                if (thresholds, direction) != (self.thresholds, self.direction) =>
            {
                Err(fault(EvaluatorFault::Inconsistent))
            }
            Verdict::Graded { score: None, .. } => Err(GradeError::NoScore),
            Verdict::Graded { score: Some(score), thresholds, direction } => {
                Ok(Grade { score, tier: thresholds.tier(score, direction) })
            }
        }
    }

    fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    fn direction(&self) -> Direction {
        self.direction
    }

    fn metric(&self) -> Option<Metric> {
        None
    }
}
