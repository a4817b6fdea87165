//! Verification: what a task must hold before anyone trains on it.
//!
//! Each check is a small function with its own [`Refusal`]; [`verify`] is the only way to a
//! [`Verified`] task. Scores are recomputed from the files on disk by the sandbox's grader,
//! never taken from the maker.

mod disk;
mod ladder;
pub(crate) mod leaks;
mod refusal;
#[cfg(test)]
mod tests;

pub use refusal::Refusal;

use crate::blueprint::Blueprint;
use crate::package::Staged;
use crate::pipeline;
use crate::roles::Roles;
use crate::scenario::Scenario;
use sandbox::task::TaskDir;

/// Something that passed verification.
#[derive(Debug)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// What was verified.
    pub fn get(&self) -> &T {
        &self.0
    }
}

/// Runs every check, the cheap ones first.
///
/// # Errors
/// The first [`Refusal`].
pub fn verify(task: Staged) -> Result<Verified<Staged>, Refusal> {
    check(&task)?;
    Ok(Verified(task))
}

/// All checks on a task that need not be new.
///
/// # Errors
/// The first [`Refusal`].
pub fn check(task: &Staged) -> Result<(), Refusal> {
    ladder::recoverable(task)?;
    ladder::not_trivial(task)?;
    ladder::learnable(task)?;
    ladder::below_ceiling(task)?;
    ladder::gaps_exceed_noise(task)?;
    disk::intact(task)?;
    disk::ordered(task)?;
    disk::perfect_answer_earns_gold(task)?;
    disk::sample_is_unrewarded(task)?;
    disk::no_constant_medals(task)?;
    disk::malformed_is_refused(task)?;
    disk::rule_is_not_printed(task)?;
    leaks::ids_say_nothing(task)?;
    leaks::order_says_nothing(task)?;
    leaks::sizes_say_nothing(task)?;
    leaks::no_duplicates(task)?;
    leaks::no_near_copies(task)?;
    Ok(())
}

/// Builds the task once more, from the blueprint on disk, and compares every byte.
///
/// # Errors
/// [`Refusal::NotReproducible`], or [`Refusal::Contract`] if the blueprint cannot be read.
pub fn rebuilds(task: &Staged, roles: &dyn Roles, scenario: &Scenario) -> Result<(), Refusal> {
    let draft = pipeline::develop(roles, blueprint(&task.dir)?, scenario)
        .map_err(|error| Refusal::Contract(error.to_string()))?;
    disk::same_files(task, &draft)
}

/// A task's files are those of the draft beside it.
///
/// # Errors
/// [`Refusal::NotReproducible`].
pub fn same_files(task: &Staged) -> Result<(), Refusal> {
    disk::same_files(task, &task.draft)
}

/// The blueprint that lies in a task's folder.
///
/// # Errors
/// [`Refusal::Contract`].
pub fn blueprint(dir: &TaskDir) -> Result<Blueprint, Refusal> {
    disk::blueprint(dir)
}
