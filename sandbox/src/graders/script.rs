//! A bundle's evaluator as a program: one run of it, jailed, on the rows of a part.

use super::evaluator_sandbox::EvaluatorSandbox;
use super::verdict::EvaluatorVerdict;
use fs_err as fs;
use jail::exec::{Fault, Outcome, Run, StartError};
use jail::limits::{Keep, RunLimits};
use tasks::sample::SampleSubmission;
use tasks::submission::{Part, SubmissionError};
use tasks::task::{ANSWERS, Bundle, EVALUATOR, SAMPLE, TaskId};
use tasks::units::{ByteSize, Span};

/// What a script may take; the released ones need a second or two, for their imports.
const TIME_LIMIT: Span = Span::seconds(30);
/// What of its output is read; a verdict is a few hundred bytes.
const OUTPUT: Keep = Keep { head: ByteSize::kib(64), tail: ByteSize::kib(4) };
/// Sets the script up among the bundle's files, with the answers and the submission it is to see.
const DRIVER: &str = include_str!("../../python/evaluate.py");

/// An evaluator did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum EvaluatorFault {
    /// Its box cannot be built.
    #[error("the box for evaluators did not start")]
    Start(#[from] StartError),
    /// The run of the evaluator failed.
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
        /// How the evaluator's run ended.
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

/// A bundle's evaluator and the tables that it is given, read once.
#[derive(Debug)]
pub(super) struct EvaluatorScript {
    task: TaskId,
    /// The sample submission as it is.
    example: Vec<u8>,
    /// The form that it asks for.
    sample: SampleSubmission,
    answers: Vec<u8>,
}

impl EvaluatorScript {
    pub(super) fn read(bundle: &Bundle) -> Result<Self, EvaluatorFault> {
        let read = |name: &str| fs::read(bundle.whole().path().join(name));
        let (example, answers) = (read(SAMPLE)?, read(ANSWERS)?);
        let sample = SampleSubmission::read(&example, &answers).map_err(EvaluatorFault::Table)?;
        Ok(Self { task: bundle.id().clone(), example, sample, answers })
    }

    pub(super) fn task(&self) -> &TaskId {
        &self.task
    }

    /// Bytes of the sample submission.
    pub(super) fn sample_bytes(&self) -> usize {
        self.example.len()
    }

    /// The form of a submission.
    pub(super) fn sample(&self) -> &SampleSubmission {
        &self.sample
    }

    /// The script's verdict on a submission of the right form.
    pub(super) fn run(
        &self,
        evaluators: &EvaluatorSandbox,
        csv: &[u8],
        part: Part,
    ) -> Result<EvaluatorVerdict, EvaluatorFault> {
        let rows = |csv: &[u8]| {
            let rows = self.sample.take(csv, part).map_err(EvaluatorFault::Table)?;
            // Read as a table before, so it is UTF-8.
            let lossy = |error: std::string::FromUtf8Error| {
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            };
            Ok::<_, EvaluatorFault>(String::from_utf8(rows).unwrap_or_else(lossy))
        };
        let given = serde_json::json!({
            "evaluator": EVALUATOR,
            "answers_name": ANSWERS,
            "answers": rows(&self.answers)?,
            "submission": rows(csv)?,
        });
        // A JSON text in a JSON text: Python reads the outer one as a string literal.
        let given = given.to_string();
        let literal = serde_json::Value::String(given);
        let code = format!("GIVEN = {literal}\n{DRIVER}");
        drop(literal);
        let policy = RunLimits { time_limit: TIME_LIMIT, stdout: OUTPUT, ..RunLimits::default() };
        verdict(&evaluators.sandbox()?.workspace(&self.task)?.run(&code, &policy)?)
    }

    /// Its verdict on the bundle's own sample submission.
    pub(super) fn run_on_sample(
        &self,
        evaluators: &EvaluatorSandbox,
        part: Part,
    ) -> Result<EvaluatorVerdict, EvaluatorFault> {
        self.run(evaluators, &self.example, part)
    }
}

fn verdict(run: &Run) -> Result<EvaluatorVerdict, EvaluatorFault> {
    let parsed = match run.stdout.omitted() {
        0 => EvaluatorVerdict::parse(&run.stdout.text()).map_err(|error| error.to_string()),
        more => Err(format!("it printed {more} bytes more than are read")),
    };
    match (&run.outcome, parsed) {
        (Outcome::Finished, Ok(verdict)) => Ok(verdict),
        // Scripts that refuse a submission often end with an exit code as well.
        (Outcome::Exited { .. }, Ok(EvaluatorVerdict::Refused)) => Ok(EvaluatorVerdict::Refused),
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
