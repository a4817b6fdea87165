//! `factory verify --regenerate`: runs the generators of tasks once more.
//!
//! A rebuild starts from the rows that a generator drew and needs no Python. Here the generator
//! itself is run again. On the same versions of Python and NumPy and a processor with the same
//! features, its rows are equal to the bit; elsewhere NumPy's functions may differ in the last
//! ones.

use super::Refusal;
use crate::generator::{self, GeneratedItems, GeneratedRows, GeneratorJail};
use crate::generator::{GeneratorError, GeneratorSpec};
use crate::package::TaskSource;
use crate::roles::{RoleCheckError, developer, generated};
use crate::spec::rule::Frame;
use std::error::Error;
use std::fmt;
use tasks::task::{Corpus, TaskDir};

/// Largest difference between two numbers that count as equal, relative to the larger one or to 1.
const TOLERANCE: f64 = 1e-9;

/// How the rows of a generator came out once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regenerated {
    /// Equal to the bit.
    Equal,
    /// Within 1e-9 of the kept ones, on other versions or another processor.
    Close,
}

/// How the generators of a corpus came out once more.
#[derive(Debug, Default)]
pub struct RegeneratedCorpus {
    /// Number of tasks whose rows a generator drew.
    pub tasks: usize,
    /// Those of them whose rows are close rather than equal.
    pub close: usize,
    /// Refused tasks, with the reason.
    pub refused: Vec<(String, Refusal)>,
}

/// Runs the generators of all tasks of a corpus that have one, one after another.
///
/// # Errors
/// [`RegenerateFault`].
pub fn regenerate_all(
    jail: &GeneratorJail,
    corpus: &Corpus,
) -> Result<RegeneratedCorpus, RegenerateFault> {
    let mut all = RegeneratedCorpus::default();
    for task in corpus.tasks() {
        let result = match is_generated(task) {
            Ok(None) => continue,
            Ok(Some(source)) => regenerate(jail, &source),
            Err(refusal) => Err(refusal.into()),
        };
        all.tasks += 1;
        match result {
            Ok(Regenerated::Equal) => {}
            Ok(Regenerated::Close) => all.close += 1,
            Err(RegenerateError::Refused(refusal)) => {
                all.refused.push((task.id().to_string(), refusal));
            }
            Err(RegenerateError::Fault(fault)) => return Err(fault),
        }
    }
    Ok(all)
}

/// The source of a task, if a generator drew its rows.
fn is_generated(task: &TaskDir) -> Result<Option<TaskSource>, Refusal> {
    let source = TaskSource::read(task)?;
    Ok(source.blueprint.generated().is_some().then_some(source))
}

/// A generator could not be run.
#[derive(Debug, thiserror::Error)]
#[error("failed to run a generator")]
pub struct RegenerateFault(#[source] Box<dyn Error + Send + Sync>);

/// Why a generator does not come out as before.
#[derive(Debug, thiserror::Error)]
enum RegenerateError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Fault(#[from] RegenerateFault),
}

impl From<RoleCheckError> for RegenerateError {
    fn from(error: RoleCheckError) -> Self {
        match error {
            RoleCheckError::Refused(refusal) => not_reproducible(&refusal),
            RoleCheckError::Fault(fault) => RegenerateFault(fault).into(),
        }
    }
}

fn not_reproducible(reason: &dyn fmt::Display) -> RegenerateError {
    Refusal::NotReproducible(format!("its generator: {reason}")).into()
}

/// Runs the generator of one task and compares its rows with the kept ones.
fn regenerate(jail: &GeneratorJail, source: &TaskSource) -> Result<Regenerated, RegenerateError> {
    let TaskSource { blueprint, generated: kept, .. } = source;
    let (Some(record), Some(kept)) = (blueprint.generator(), kept) else {
        return Err(not_reproducible(&"the code or the rows are missing"));
    };
    let spec = GeneratorSpec::from_blueprint(blueprint);
    let stream = blueprint.origin.stream(generated::STREAM);
    let made = match generator::generate(jail, &record.code, &spec, stream) {
        Ok(made) => made,
        Err(GeneratorError::Refused(refusal)) => return Err(not_reproducible(&refusal.detail)),
        Err(GeneratorError::Fault(fault)) => return Err(RegenerateFault(fault.into()).into()),
    };
    let found = made.inspection.into_record(&record.code);
    if (&found.rule_hash, &found.clauses) != (&record.rule_hash, &record.clauses) {
        return Err(not_reproducible(&"the record of its rule is another"));
    }
    let assets = developer::rendered(blueprint, Some(kept));
    let assets = assets.map_err(|error| not_reproducible(&error))?;
    let transforms = generated::public_transforms(blueprint, &assets, jail)?;
    let again = GeneratedRows { transforms, ..made.rows };
    if again == *kept {
        return Ok(Regenerated::Equal);
    }
    if found == *record {
        return Err(not_reproducible(&"other rows, on the same versions and processor"));
    }
    match differs(kept, &again) {
        None => Ok(Regenerated::Close),
        Some(what) => Err(not_reproducible(&format!("{what} differ by more than {TOLERANCE}"))),
    }
}

/// What differs by more than [`TOLERANCE`], if anything does. Levels and samples, which are
/// rounded, may be one step apart.
fn differs(kept: &GeneratedRows, again: &GeneratedRows) -> Option<&'static str> {
    let close = |one: f64, other: f64| {
        (one - other).abs() <= TOLERANCE * one.abs().max(other.abs()).max(1.0)
    };
    let all_close = |one: &mut dyn Iterator<Item = f64>, other: &mut dyn Iterator<Item = f64>| {
        one.zip(other).all(|(one, other)| close(one, other))
    };
    let numbers = |frame: &Frame| frame.numbers.values().flatten().copied().collect::<Vec<_>>();
    let (one, other) = (numbers(&kept.columns), numbers(&again.columns));
    let same_words = kept.columns.words == again.columns.words;
    let same_names = kept.columns.numbers.keys().eq(again.columns.numbers.keys());
    if !same_words || !same_names || !all_close(&mut one.into_iter(), &mut other.into_iter()) {
        return Some("columns");
    }
    if !all_close(&mut kept.scores.iter().copied(), &mut again.scores.iter().copied()) {
        return Some("scores");
    }
    let items = match (&kept.items, &again.items) {
        (GeneratedItems::Pictures(one), GeneratedItems::Pictures(other)) => {
            one.shape() == other.shape()
                && one.iter().zip(other).all(|(one, other)| one.abs_diff(*other) <= 1)
        }
        (GeneratedItems::Sounds(one), GeneratedItems::Sounds(other)) => {
            one.shape() == other.shape()
                && one.iter().zip(other).all(|(one, other)| one.abs_diff(*other) <= 1)
        }
        (one, other) => one == other,
    };
    if !items {
        return Some("items");
    }
    let transforms = kept.transforms.shape() == again.transforms.shape()
        && all_close(&mut kept.transforms.iter().copied(), &mut again.transforms.iter().copied());
    (!transforms).then_some("transforms")
}

impl fmt::Display for RegeneratedCorpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (task, refusal) in &self.refused {
            writeln!(f, "{task}: {}: {refusal}", refusal.code())?;
        }
        let Self { tasks, close, refused } = self;
        let equal = tasks - close - refused.len();
        write!(f, "{equal} of {tasks} generators draw the kept rows again, bit for bit")?;
        if *close > 0 {
            write!(f, "; {close} within {TOLERANCE}, on other versions or another processor")?;
        }
        Ok(())
    }
}
