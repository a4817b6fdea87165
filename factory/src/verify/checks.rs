//! All checks in their order, and the only way to a verified task.

#[cfg(test)]
mod tests;

use super::suspects::Carrier;
use super::{Refusal, copies, disk, files, ladder, leaks, printed};
use crate::package::{self, Draft, PackageError, Staged};
use crate::page::Prose;
use crate::roles::TaskFacts;
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::Scenario;
use camino::Utf8Path;
use tasks::task::TaskDir;

/// Something that passed verification.
#[derive(Debug)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// The value that passed verification.
    pub fn get(&self) -> &T {
        &self.0
    }
}

/// Why a draft did not become a verified task.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It is not fit for use.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be written.
    #[error(transparent)]
    Package(#[from] PackageError),
}

/// Writes a draft below `work` and runs every check on it. Checks that need no files run first:
/// they cause most refusals, and they take less time than writing and deleting hundreds of files.
///
/// # Errors
/// [`VerifyError`] with the first [`Refusal`].
pub fn verify(draft: Draft, work: &Utf8Path) -> Result<Verified<Staged>, VerifyError> {
    climbable(&draft.facts)?;
    let task = package::stage(draft, work)?;
    sound(&task)?;
    Ok(Verified(task))
}

/// Runs all checks on a task that is already in a folder.
///
/// # Errors
/// The first [`Refusal`].
pub fn check(task: &Staged) -> Result<(), Refusal> {
    climbable(&task.draft.facts)?;
    sound(task)
}

/// The ladder is worth climbing.
fn climbable(facts: &TaskFacts) -> Result<(), Refusal> {
    ladder::recoverable(facts)?;
    ladder::not_trivial(facts)?;
    ladder::learnable(facts)?;
    ladder::below_ceiling(facts)?;
    ladder::gaps_exceed_noise(facts)
}

/// The files are what they should be, and give nothing away.
fn sound(task: &Staged) -> Result<(), Refusal> {
    disk::intact(task)?;
    disk::ordered(task)?;
    disk::perfect_answer_earns_gold(task)?;
    disk::sample_is_unrewarded(task)?;
    disk::no_constant_medals(task)?;
    disk::malformed_is_refused(task)?;
    printed::rule_is_not_printed(task)?;
    files::none_is_astray(task)?;
    files::times_say_nothing(&task.dir)?;
    files::headers_say_nothing(&task.dir)?;
    leaks::say_nothing(task, &Carrier::ALL)?;
    leaks::no_duplicates(task)?;
    leaks::no_near_copies(task)?;
    copies::no_item_is_a_copy(task)
}

/// How much of a task is built once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rebuild {
    /// Data, page and evaluator; the baselines are taken as they are.
    Data,
    /// Data, page, evaluator and baselines.
    Whole,
}

/// Builds the task once more, from the blueprint on disk, and compares every byte.
///
/// # Errors
/// [`Refusal::NotReproducible`], or [`Refusal::Contract`] if the blueprint cannot be read.
pub fn rebuilds(task: &Staged, scenario: &Scenario, rebuild: Rebuild) -> Result<(), Refusal> {
    let known = &task.draft.facts;
    let kept = (rebuild == Rebuild::Data).then_some(known);
    let prose = prose(&task.dir)?;
    let evaluator = model_evaluator(&task.dir)?;
    let again = package::rebuild(&blueprint(&task.dir)?, scenario, prose.as_ref(), evaluator, kept)
        .map_err(|error| Refusal::Contract(error.to_string()))?;
    if again.facts.assets.test_scores != known.assets.test_scores {
        return Err(Refusal::NotReproducible("the noise-free scores".to_owned()));
    }
    disk::same_files(task, &again)
}

/// A task's files are those of the draft beside it.
///
/// # Errors
/// [`Refusal::NotReproducible`].
pub fn same_files(task: &Staged) -> Result<(), Refusal> {
    disk::same_files(task, &task.draft)
}

/// The blueprint in a task's folder.
///
/// # Errors
/// [`Refusal::Contract`].
pub fn blueprint(dir: &TaskDir) -> Result<Blueprint, Refusal> {
    disk::blueprint(dir)
}

/// The prose in a task's folder, if a model wrote its page.
///
/// # Errors
/// [`Refusal::Contract`].
pub fn prose(dir: &TaskDir) -> Result<Option<Prose>, Refusal> {
    disk::prose(dir)
}

/// The evaluator in a task's folder, if a model wrote it.
///
/// # Errors
/// [`Refusal::Contract`].
pub fn model_evaluator(dir: &TaskDir) -> Result<Option<String>, Refusal> {
    disk::model_evaluator(dir)
}
