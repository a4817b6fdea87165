//! The grader of a bundle: the bundle's own script. It runs in a jail with the answers, in a box
//! that no agent's run shares, and only the JSON object that it prints counts.
//!
//! The paper's release grades the whole test set. Here the script only sees the rows of the part
//! that is graded, of the submission and of the answers.
//!
//! A script that crashes, hangs, exceeds its limits or prints no verdict does not show whether the
//! submission or the task caused it: the form of the submission was checked before, its texts were
//! not. The bundle's own sample is then graded on the same rows. If that works, the submission is
//! refused (otherwise an agent could have bad episodes dropped by making the script crash); if not,
//! it is a fault of the task.

use super::evaluator_sandbox::EvaluatorSandbox;
use super::script::{EvaluatorFault, EvaluatorScript};
use super::verdict::EvaluatorVerdict;
use std::sync::Arc;
use tasks::grade::{Grade, GradeError, Grader};
use tasks::metrics::{Direction, Metric};
use tasks::submission::Part;
use tasks::task::Bundle;
use tasks::thresholds::Thresholds;
use tasks::units::ByteSize;

/// The largest submission that is passed on, whatever the sample's size.
const SUBMISSION_LIMIT: usize = 8 << 20;
/// A submission may be so many times as large as the sample, and so many bytes beyond.
const SAMPLES: usize = 16;
const SUBMISSION_SLACK: usize = 1 << 20;
/// How a byte of a submission is encoded in a script: at worst one that stands in
/// JSON as six, and as seven in the literal around it, each of them held twice.
const COPIES: u64 = 32;

/// A bundle's evaluator at work.
#[derive(Debug)]
pub(super) struct ScriptGrader {
    evaluators: Arc<EvaluatorSandbox>,
    proof: Arc<Proof>,
}

/// An evaluator that has graded the bundle's own sample submission, which shows that it works and
/// what its thresholds are.
#[derive(Debug)]
pub(super) struct Proof {
    script: EvaluatorScript,
    thresholds: Thresholds,
    direction: Direction,
}

impl Proof {
    fn make(bundle: &Bundle, evaluators: &EvaluatorSandbox) -> Result<Self, EvaluatorFault> {
        let script = EvaluatorScript::read(bundle)?;
        match script.run_on_sample(evaluators, Part::All)? {
            EvaluatorVerdict::Graded { score: Some(_), thresholds, direction } => {
                Ok(Self { script, thresholds, direction })
            }
            EvaluatorVerdict::Graded { score: None, .. } | EvaluatorVerdict::Refused => {
                Err(EvaluatorFault::SampleRefused)
            }
        }
    }

    /// Whether the evaluator still grades the sample, in these rows of it.
    fn holds(&self, evaluators: &EvaluatorSandbox, part: Part) -> bool {
        matches!(
            self.script.run_on_sample(evaluators, part),
            Ok(EvaluatorVerdict::Graded { score: Some(_), thresholds, direction })
                if (thresholds, direction) == (self.thresholds, self.direction)
        )
    }
}

impl ScriptGrader {
    /// Has the evaluator prove itself, unless it has done so since the task was opened.
    ///
    /// # Errors
    /// [`GradeError::Evaluator`].
    pub(super) fn open(
        bundle: &Bundle,
        evaluators: &Arc<EvaluatorSandbox>,
    ) -> Result<Self, GradeError> {
        let task = bundle.id();
        let proof =
            evaluators.proof(task, || Proof::make(bundle, evaluators)).map_err(|source| {
                GradeError::Evaluator { task: task.clone(), source: Box::new(source) }
            })?;
        Ok(Self { evaluators: Arc::clone(evaluators), proof })
    }

    /// The script's verdict on a submission of the right form.
    fn evaluate(&self, csv: &[u8], part: Part) -> Result<EvaluatorVerdict, GradeError> {
        let Proof { script, .. } = &*self.proof;
        match script.run(&self.evaluators, csv, part) {
            Ok(verdict) => Ok(verdict),
            Err(failure @ (EvaluatorFault::Ended { .. } | EvaluatorFault::Garbage(_)))
                if self.proof.holds(&self.evaluators, part) =>
            {
                // For the operator alone: the script's own words may quote the answers.
                tracing::info!(task = %script.task(), %failure, "a submission broke the evaluator");
                Err(GradeError::Refused(
                    "the task's evaluator breaks on its values, though not on those of the \
                     sample submission; write values of the same kind"
                        .to_owned(),
                ))
            }
            Err(source) => Err(self.fault(source)),
        }
    }

    fn fault(&self, source: EvaluatorFault) -> GradeError {
        let source = Box::new(source);
        GradeError::Evaluator { task: self.proof.script.task().clone(), source }
    }
}

impl Grader for ScriptGrader {
    fn grade(&self, csv: &[u8], part: Part) -> Result<Grade, GradeError> {
        let limit = self.proof.script.sample_bytes().saturating_mul(SAMPLES);
        let limit = limit.saturating_add(SUBMISSION_SLACK).min(SUBMISSION_LIMIT);
        if csv.len() > limit {
            let size = ByteSize::new(limit as u64);
            return Err(GradeError::Refused(format!(
                "it has {} bytes, and the evaluator of this task is given {size} at most",
                csv.len()
            )));
        }
        self.proof.script.sample().check(csv)?;
        match self.evaluate(csv, part)? {
            EvaluatorVerdict::Refused => {
                let why = "the task's evaluator does not accept its values".to_owned();
                Err(GradeError::Refused(why))
            }
            EvaluatorVerdict::Graded { thresholds, direction, .. }
                if (thresholds, direction) != (self.proof.thresholds, self.proof.direction) =>
            {
                Err(self.fault(EvaluatorFault::Inconsistent))
            }
            EvaluatorVerdict::Graded { score: None, .. } => Err(GradeError::NoScore),
            EvaluatorVerdict::Graded { score: Some(score), thresholds, direction } => {
                Ok(Grade { score, tier: thresholds.tier(score, direction) })
            }
        }
    }

    fn memory(&self, size: u64) -> u64 {
        let passed_on = size.min(SUBMISSION_LIMIT as u64);
        size.saturating_add(passed_on.saturating_mul(COPIES)).saturating_add(1 << 20)
    }

    fn thresholds(&self) -> Thresholds {
        self.proof.thresholds
    }

    fn direction(&self) -> Direction {
        self.proof.direction
    }

    fn metric(&self) -> Option<Metric> {
        None
    }
}
