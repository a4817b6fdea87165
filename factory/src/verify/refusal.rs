//! Why a task is not fit for use.

use super::suspects::Carrier;
use crate::package::SourceError;
use crate::page::RefusedProse;
use crate::roles::{RoleRefusal, TaskPart};
use crate::spec::blueprint::BLUEPRINT_VERSION;
use tasks::grade::GradeError;
use tasks::text::with_causes;

/// A failed check. [`Refusal::code`] is what ledgers and funnels count.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Equation (1): gold > silver > bronze > median > sample.
    #[error("the milestones and the sample submission are not strictly ordered: {0}")]
    NotOrdered(String),
    /// Two neighbouring rungs could have come out the other way round.
    #[error("R{below} and R{above} differ by no more than noise (p = {p:.3})")]
    GapWithinNoise {
        /// Number of the lower rung, from 0.
        below: usize,
        /// Number of the higher rung, from 0.
        above: usize,
        /// Share of bootstrap samples in which the order is reversed.
        p: f64,
    },
    /// Gold asks for what not even the rule itself reaches.
    #[error("gold ({gold}) is within two standard errors ({error}) of the ceiling ({ceiling})")]
    GoldAtCeiling {
        /// Score from which a submission earns gold.
        gold: f64,
        /// Score of the noise-free rule.
        ceiling: f64,
        /// Standard error of the ceiling's score.
        error: f64,
    },
    /// A model with the right transforms does not get far.
    #[error("the top rung takes {share:.2} of the way from constant to ceiling")]
    NotRecoverable {
        /// (R3 − R0) / (ceiling − R0).
        share: f64,
    },
    /// A forest out of bag does not beat the constant.
    #[error("a forest does not beat a constant out of bag (p = {p:.3})")]
    Unlearnable {
        /// Share of bootstrap samples without an advantage.
        p: f64,
    },
    /// One column is enough.
    #[error("`{column}` alone takes {share:.2} of the way to the ceiling")]
    Trivial {
        /// Name of the column that suffices.
        column: String,
        /// Share of the way from R0 to the ceiling.
        share: f64,
    },
    /// A constant submission earns a medal.
    #[error("predicting {constant} for every row scores {score}, which reaches bronze")]
    ConstantMedals {
        /// The predicted cells, separated by commas.
        constant: String,
        /// Score of the constant submission.
        score: f64,
    },
    /// The truth itself does not earn gold.
    #[error("the perfect submission does not earn gold")]
    PerfectNotGold,
    /// The sample submission is not accepted.
    #[error("the sample submission is refused")]
    SampleInvalid(#[source] GradeError),
    /// The sample submission earns something.
    #[error("the sample submission reaches a milestone with {0}")]
    SampleRewarded(f64),
    /// A broken submission is accepted.
    #[error("a submission with {0} is accepted")]
    MalformedAccepted(&'static str),
    /// Something about rows carries signal.
    #[error("{what} goes with the target (effect {effect:.2}, p = {p:.4})")]
    Leak {
        /// Kind of property that carries signal.
        carrier: Carrier,
        /// The property of the rows, as messages name it.
        what: String,
        /// Rank correlation, 2 · AUC − 1, or standard deviations of runs.
        effect: f64,
        /// Share of permutations with an effect as large, in [0, 1].
        p: f64,
    },
    /// A file has a time of its own.
    #[error(
        "the time of `{0}` is not that of the other files; `factory verify --fix-times` sets the \
         times of all files back"
    )]
    TimeLeak(String),
    /// A file says more than its data.
    #[error("`{path}` carries more than its data: {fault}")]
    MetadataLeak {
        /// Path of the file within the public half.
        path: String,
        /// What else is in it.
        fault: String,
    },
    /// A file that no row names.
    #[error("`{0}` is in the public half, and no row names it")]
    StrayFile(String),
    /// The same features in train and test.
    #[error("test row {test} repeats train row {train}")]
    Duplicate {
        /// Position in the test file.
        test: usize,
        /// Position in the training file.
        train: usize,
    },
    /// Test rows that lie implausibly close to training rows.
    #[error("test rows come within {distance:.4} of training rows, which lie {typical:.4} apart")]
    NearCopy {
        /// First percentile of the test rows' distances to the nearest training row.
        distance: f64,
        /// Median distance between nearest training rows.
        typical: f64,
    },
    /// A test picture that is a training picture, changed a little.
    #[error("the picture of test row {test} is that of train row {train} (r = {likeness:.3})")]
    PictureCopy {
        /// Position in the test file.
        test: usize,
        /// Position in the training file.
        train: usize,
        /// Correlation of their pixels.
        likeness: f64,
    },
    /// A test soundscape that is a training soundscape, changed a little.
    #[error("the sound of test row {test} is that of train row {train} (r = {likeness:.3})")]
    SoundCopy {
        /// Position in the test file.
        test: usize,
        /// Position in the training file.
        train: usize,
        /// Correlation of their levels over time.
        likeness: f64,
    },
    /// A test text that is a training text, changed a little.
    #[error("the text of test row {test} is that of train row {train} (Jaccard {jaccard:.2})")]
    TextCopy {
        /// Position in the test file.
        test: usize,
        /// Position in the training file.
        train: usize,
        /// Jaccard index of their runs of five words.
        jaccard: f64,
    },
    /// The page gives the rule away.
    #[error("the description shows the rule: `{0}`")]
    RulePrinted(String),
    /// The kept prose of a chat model does not pass the checks of prose.
    #[error("the kept prose is refused: {0}")]
    Prose(RefusedProse),
    /// Building again gives other bytes.
    #[error("building the task again gives another `{0}`")]
    NotReproducible(String),
    /// Made by a build that makes other files of the same blueprint.
    #[error(
        "its blueprint has version {found}, and this build rebuilds version {BLUEPRINT_VERSION}; \
         verify it with the build that made it"
    )]
    OtherVersion {
        /// The version in the task's blueprint.
        found: u32,
    },
    /// Files are missing, damaged or not of the contract's form.
    #[error("a file of the task cannot be used: {0}")]
    Contract(String),
    /// The task's own evaluator and the native grader are of different opinions.
    #[error("the evaluator does not agree with the grader: {0}")]
    EvaluatorDisagrees(String),
    /// The reference script submits nothing that can be graded.
    #[error("the reference script makes no valid submission: {0}")]
    NoSubmission(String),
    /// The reference script takes too long.
    #[error("the reference script takes {seconds:.1} s; a task may take {budget:.1} s")]
    OverBudget {
        /// Processor time of the script, in seconds.
        seconds: f64,
        /// Limit of the processor time, in seconds.
        budget: f64,
    },
}

impl Refusal {
    /// The reason code, a stable name for tables and records.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotOrdered(_) => "not_ordered",
            Self::GapWithinNoise { .. } => "gap_within_noise",
            Self::GoldAtCeiling { .. } => "gold_at_ceiling",
            Self::NotRecoverable { .. } => "not_recoverable",
            Self::Unlearnable { .. } => "unlearnable",
            Self::Trivial { .. } => "trivial",
            Self::ConstantMedals { .. } => "constant_medals",
            Self::PerfectNotGold => "perfect_not_gold",
            Self::SampleInvalid(_) => "sample_invalid",
            Self::SampleRewarded(_) => "sample_rewarded",
            Self::MalformedAccepted(_) => "malformed_accepted",
            Self::Leak { carrier, .. } => match carrier {
                Carrier::Id => "id_leak",
                Carrier::Order => "order_leak",
                Carrier::Name => "name_leak",
                Carrier::Size => "size_leak",
                Carrier::Link => "link_leak",
                Carrier::Record => "record_leak",
            },
            Self::TimeLeak(_) => "time_leak",
            Self::MetadataLeak { .. } => "metadata_leak",
            Self::StrayFile(_) => "stray_file",
            Self::Duplicate { .. } => "duplicate",
            Self::NearCopy { .. } => "near_copy",
            Self::PictureCopy { .. } => "picture_copy",
            Self::SoundCopy { .. } => "sound_copy",
            Self::TextCopy { .. } => "text_copy",
            Self::RulePrinted(_) => "rule_printed",
            Self::Prose(refused) => refused.code,
            Self::NotReproducible(_) => "not_reproducible",
            Self::OtherVersion { .. } => "other_version",
            Self::Contract(_) => "contract",
            Self::EvaluatorDisagrees(_) => "evaluator_disagrees",
            Self::NoSubmission(_) => "no_submission",
            Self::OverBudget { .. } => "over_budget",
        }
    }

    /// The part of the task that must change; the refusal is feedback for the role that writes it.
    /// `None` if only a fault of this software can cause it.
    pub fn part(&self) -> Option<TaskPart> {
        match self {
            Self::NotOrdered(_)
            | Self::GapWithinNoise { .. }
            | Self::GoldAtCeiling { .. }
            | Self::NotRecoverable { .. }
            | Self::Unlearnable { .. }
            | Self::Trivial { .. }
            | Self::ConstantMedals { .. }
            | Self::SampleRewarded(_) => Some(TaskPart::Mechanism),
            Self::Leak { .. }
            | Self::Duplicate { .. }
            | Self::NearCopy { .. }
            | Self::PictureCopy { .. }
            | Self::SoundCopy { .. }
            | Self::TextCopy { .. } => Some(TaskPart::Data),
            Self::EvaluatorDisagrees(_) | Self::OverBudget { .. } => Some(TaskPart::Evaluator),
            Self::RulePrinted(_) | Self::Prose(_) => Some(TaskPart::Description),
            Self::PerfectNotGold
            | Self::SampleInvalid(_)
            | Self::MalformedAccepted(_)
            | Self::TimeLeak(_)
            | Self::MetadataLeak { .. }
            | Self::StrayFile(_)
            | Self::NotReproducible(_)
            | Self::OtherVersion { .. }
            | Self::Contract(_)
            | Self::NoSubmission(_) => None,
        }
    }
}

impl From<SourceError> for Refusal {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::OtherVersion { found } => Self::OtherVersion { found },
            other => Self::Contract(with_causes(&other)),
        }
    }
}

impl From<Refusal> for RoleRefusal {
    fn from(refusal: Refusal) -> Self {
        Self { code: refusal.code(), detail: refusal.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_belongs_to_the_part_that_must_change() {
        let text = || "x".to_owned();
        let leak = |carrier| Refusal::Leak { carrier, what: text(), effect: 0.5, p: 0.0 };
        let cases = [
            (Refusal::NotRecoverable { share: 0.1 }, Some(TaskPart::Mechanism)),
            (Refusal::Unlearnable { p: 0.2 }, Some(TaskPart::Mechanism)),
            (Refusal::Trivial { column: text(), share: 1.0 }, Some(TaskPart::Mechanism)),
            (Refusal::GapWithinNoise { below: 1, above: 2, p: 0.2 }, Some(TaskPart::Mechanism)),
            (Refusal::NotOrdered(text()), Some(TaskPart::Mechanism)),
            (
                Refusal::GoldAtCeiling { gold: 0.9, ceiling: 0.9, error: 0.1 },
                Some(TaskPart::Mechanism),
            ),
            (leak(Carrier::Id), Some(TaskPart::Data)),
            (leak(Carrier::Order), Some(TaskPart::Data)),
            (leak(Carrier::Name), Some(TaskPart::Data)),
            (leak(Carrier::Size), Some(TaskPart::Data)),
            (leak(Carrier::Link), Some(TaskPart::Data)),
            (leak(Carrier::Record), Some(TaskPart::Data)),
            (Refusal::NearCopy { distance: 0.0, typical: 1.0 }, Some(TaskPart::Data)),
            (Refusal::PictureCopy { test: 1, train: 2, likeness: 1.0 }, Some(TaskPart::Data)),
            (Refusal::SoundCopy { test: 1, train: 2, likeness: 1.0 }, Some(TaskPart::Data)),
            (Refusal::TextCopy { test: 1, train: 2, jaccard: 1.0 }, Some(TaskPart::Data)),
            (Refusal::Duplicate { test: 1, train: 2 }, Some(TaskPart::Data)),
            (Refusal::RulePrinted(text()), Some(TaskPart::Description)),
            (Refusal::EvaluatorDisagrees(text()), Some(TaskPart::Evaluator)),
            (Refusal::OverBudget { seconds: 11.0, budget: 10.0 }, Some(TaskPart::Evaluator)),
            (Refusal::Contract(text()), None),
            (Refusal::StrayFile(text()), None),
            (Refusal::TimeLeak(text()), None),
            (Refusal::MetadataLeak { path: text(), fault: text() }, None),
            (Refusal::NotReproducible(text()), None),
            (Refusal::MalformedAccepted("x"), None),
            (Refusal::PerfectNotGold, None),
        ];
        for (refusal, part) in cases {
            assert_eq!(refusal.part(), part, "{}", refusal.code());
        }
    }
}
