//! Why a generator is refused, and what is not its fault.

use jail::exec::{Fault, PlaceError, StartError};
use jail::python::PythonError;
use serde::Deserialize;
use tasks::text::one_line;

/// The longest detail of a refusal, in characters: it is sent back to a model.
const MOST_DETAIL: usize = 1500;

/// What is wrong with a generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GeneratorFlaw {
    /// It is no Python.
    BadSyntax,
    /// It imports another module than the allowed ones, reads or writes files, or executes text.
    BadImport,
    /// A function or the version is missing, or something runs at import.
    BadForm,
    /// One of its functions raised an exception.
    Raised,
    /// It ran too long.
    TimedOut,
    /// It took too much memory.
    OutOfMemory,
    /// It wrote too much.
    DiskLimit,
    /// It printed too much.
    OutputLimit,
    /// Its process crashed or left before its time.
    Crashed,
    /// It left no file of rows, or another kind of file.
    BadResult,
    /// Its rows take more than 48 MiB.
    TooLarge,
    /// A column is missing, or is none of the task's.
    BadName,
    /// An array has another shape or type than asked for.
    BadShape,
    /// A value is NaN, out of its range, or none of the words of its column.
    BadValue,
    /// A text of an item is empty, too long, or has characters that do not show.
    BadText,
    /// A column has the same value in every row.
    ConstantColumn,
    /// Scores are not finite, or all the same.
    BadScores,
    /// Rows follow from the rows before them.
    OrderedRows,
    /// Rows are repeated.
    Duplicate,
    /// The same call gives other bytes.
    NotDeterministic,
    /// `score` or `item` uses more than its arguments.
    KeptState,
    /// Another random stream gives the same rows, or rows of another kind.
    NotGenerative,
    /// A transform is the score.
    TransformIsScore,
    /// The transforms do not explain the score.
    TransformMisses,
    /// The score is hidden where nothing should depend on it.
    HiddenLabel,
}

impl GeneratorFlaw {
    /// All flaws, in the order in which they can be found.
    pub const ALL: [Self; 25] = [
        Self::BadSyntax,
        Self::BadImport,
        Self::BadForm,
        Self::Raised,
        Self::TimedOut,
        Self::OutOfMemory,
        Self::DiskLimit,
        Self::OutputLimit,
        Self::Crashed,
        Self::BadResult,
        Self::TooLarge,
        Self::BadName,
        Self::BadShape,
        Self::BadValue,
        Self::BadText,
        Self::ConstantColumn,
        Self::BadScores,
        Self::OrderedRows,
        Self::Duplicate,
        Self::NotDeterministic,
        Self::KeptState,
        Self::NotGenerative,
        Self::TransformIsScore,
        Self::TransformMisses,
        Self::HiddenLabel,
    ];

    /// The reason code in ledgers.
    pub fn code(self) -> &'static str {
        match self {
            Self::BadSyntax => "bad_syntax",
            Self::BadImport => "bad_import",
            Self::BadForm => "bad_form",
            Self::Raised => "raised",
            Self::TimedOut => "timed_out",
            Self::OutOfMemory => "out_of_memory",
            Self::DiskLimit => "disk_limit",
            Self::OutputLimit => "output_limit",
            Self::Crashed => "crashed",
            Self::BadResult => "bad_result",
            Self::TooLarge => "too_large",
            Self::BadName => "bad_name",
            Self::BadShape => "bad_shape",
            Self::BadValue => "bad_value",
            Self::BadText => "bad_text",
            Self::ConstantColumn => "constant_column",
            Self::BadScores => "bad_scores",
            Self::OrderedRows => "ordered_rows",
            Self::Duplicate => "duplicate",
            Self::NotDeterministic => "not_deterministic",
            Self::KeptState => "kept_state",
            Self::NotGenerative => "not_generative",
            Self::TransformIsScore => "transform_is_score",
            Self::TransformMisses => "transform_misses",
            Self::HiddenLabel => "hidden_label",
        }
    }
}

/// A generator that is not accepted. Its author can do better.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct GeneratorRefusal {
    /// What is wrong with it.
    pub flaw: GeneratorFlaw,
    /// The reason in words: one line of at most 1,500 characters that a terminal can show.
    pub detail: String,
}

impl GeneratorRefusal {
    /// A refusal; of a long detail, the beginning and the end are kept.
    pub fn new(flaw: GeneratorFlaw, detail: &str) -> Self {
        let detail = one_line(detail.trim()).into_owned();
        let count = detail.chars().count();
        if count <= MOST_DETAIL {
            return Self { flaw, detail };
        }
        let half = (MOST_DETAIL - 5) / 2;
        let head: String = detail.chars().take(half).collect();
        let tail: String = detail.chars().skip(count - half).collect();
        Self { flaw, detail: format!("{head} ... {tail}") }
    }

    /// The reason code in ledgers.
    pub fn code(&self) -> &'static str {
        self.flaw.code()
    }
}

/// A generator could not be run or judged, through no fault of its own.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorFault {
    /// There is no Python for generators.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// The sandbox does not start.
    #[error("failed to start the sandbox for generators")]
    Start(#[from] StartError),
    /// The sandbox failed.
    #[error("the sandbox failed while a generator ran")]
    Jail(#[from] Fault),
    /// A file could not be handed over to it.
    #[error("failed to hand a file over to a generator")]
    Place(#[from] PlaceError),
    /// The driver itself failed.
    #[error("the driver of generators failed: {0}")]
    Driver(String),
    /// More is asked for than any generator may return.
    #[error("a generator cannot be asked for this: {0}")]
    Spec(String),
}

/// Why there are no rows.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    /// The generator is at fault.
    #[error(transparent)]
    Refused(#[from] GeneratorRefusal),
    /// We are, or the host is.
    #[error(transparent)]
    Fault(#[from] GeneratorFault),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_that_the_driver_writes() {
        for flaw in GeneratorFlaw::ALL {
            let read: GeneratorFlaw = serde_json::from_value(flaw.code().into()).unwrap();
            assert_eq!(read, flaw);
        }
    }

    #[test]
    fn long_and_hostile_details_become_one_short_line() {
        let refusal = GeneratorRefusal::new(GeneratorFlaw::Raised, "a\nb\u{202e}\x1b[2J ");
        assert_eq!(refusal.detail, "a\\nb\\u{202e}\\x1b[2J");
        let long = format!("begin {} end", "é".repeat(5000));
        let detail = GeneratorRefusal::new(GeneratorFlaw::Raised, &long).detail;
        assert!(detail.starts_with("begin é") && detail.ends_with("é end"), "{detail}");
        assert!(detail.chars().count() <= MOST_DETAIL);
    }
}
