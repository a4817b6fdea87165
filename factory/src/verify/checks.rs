//! All checks in their order, and the only way to a verified task.

#[cfg(test)]
mod tests;

use super::suspects::Carrier;
use super::{Refusal, copies, disk, files, ladder, leaks, printed};
use crate::package::{self, Draft, PackageError, Staged, TaskSource};
use crate::roles::TaskFacts;
use crate::spec::scenario::Scenario;
use camino::Utf8Path;

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

/// All that is wrong with a task that is already in a folder. Where files are not those of the
/// draft, what they say is not looked at: they are named.
pub fn check_all(task: &Staged) -> Vec<Refusal> {
    let changed = disk::changed_files(task, &task.draft);
    let is_whole = changed.is_empty();
    let mut found = changed;
    found.extend(disk::strangers(task));
    found.extend(LADDER.iter().filter_map(|check| check(&task.draft.facts).err()));
    found.extend(files::times_say_nothing(&task.dir).err());
    match (is_whole, disk::intact(task)) {
        (true, Ok(())) => found.extend(CONTENTS.iter().filter_map(|check| check(task).err())),
        (true, Err(refusal)) => found.push(refusal),
        (false, _) => {}
    }
    found
}

/// A check of `T`.
type Check<T> = fn(&T) -> Result<(), Refusal>;

/// Whether the ladder is worth climbing.
const LADDER: [Check<TaskFacts>; 5] = [
    ladder::recoverable,
    ladder::not_trivial,
    ladder::learnable,
    ladder::below_ceiling,
    ladder::gaps_exceed_noise,
];

/// Whether what the files say is what it should be, and gives nothing away.
const CONTENTS: [Check<Staged>; 13] = [
    disk::ordered,
    disk::perfect_answer_earns_gold,
    disk::sample_is_unrewarded,
    disk::no_constant_medals,
    disk::malformed_is_refused,
    printed::rule_is_not_printed,
    files::none_is_astray,
    files::labels_are_answers,
    |task| files::headers_say_nothing(&task.dir),
    |task| leaks::say_nothing(task, &Carrier::ALL),
    leaks::no_duplicates,
    leaks::no_near_copies,
    copies::no_item_is_a_copy,
];

fn climbable(facts: &TaskFacts) -> Result<(), Refusal> {
    LADDER.iter().try_for_each(|check| check(facts))
}

fn sound(task: &Staged) -> Result<(), Refusal> {
    disk::intact(task)?;
    disk::no_stranger(task)?;
    files::times_say_nothing(&task.dir)?;
    CONTENTS.iter().try_for_each(|check| check(task))
}

/// How much of a task is built once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rebuild {
    /// Data, page and evaluator; the baselines are taken as they are.
    Data,
    /// Data, page, evaluator and baselines.
    Whole,
}

/// Builds the task once more, from its source on disk, and compares every byte.
///
/// # Errors
/// [`Refusal::NotReproducible`], or [`Refusal::Contract`] if the source cannot be read.
pub fn rebuilds(task: &Staged, scenario: &Scenario, rebuild: Rebuild) -> Result<(), Refusal> {
    let known = &task.draft.facts;
    let kept = (rebuild == Rebuild::Data).then_some(known);
    let again = package::rebuild(&TaskSource::read(&task.dir)?, scenario, kept)
        .map_err(|error| Refusal::Contract(error.to_string()))?;
    if again.facts.assets.test_scores != known.assets.test_scores {
        return Err(Refusal::NotReproducible("the noise-free scores".to_owned()));
    }
    disk::same_files(task, &again)
}
