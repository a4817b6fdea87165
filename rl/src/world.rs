//! A task of a suite of generated environments (crate `worlds`), as something to train and to be
//! evaluated on.

use crate::run::settings::{SettingsError, require};
use camino::{Utf8Path, Utf8PathBuf};
use jail::exec::{Sandbox, SandboxOptions, StartError};
use jail::isolation::tier::UnknownTier;
use jail::python::{PythonEnv, PythonError};
use std::sync::Arc;
use tasks::task::TaskId;
use worlds::{Environment, FolderError, Part, TaskFolder, TaskSpec};

/// The variable that names the weakest tier of the sandbox in which programs of policies are run. In the
/// box of an agent no namespaces can be made, so there it is `t3`.
const ALLOW_TIER: &str = "MLE_ALLOW_TIER";
/// Of every so many training items the last one is held out, for validation.
const HELD_OUT_EVERY: usize = 10;

/// A task's training items, of which a tenth is held out for validation. Demonstrations and updates
/// never touch those.
#[derive(Debug)]
pub struct TrainingItems {
    /// The environment of all of them.
    pub world: Box<dyn Environment>,
    /// What is trained on, in order.
    pub train: Vec<TaskId>,
    /// What policies are validated on, in order.
    pub held_out: Vec<TaskId>,
}

/// Why a task of a suite cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// Its folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The sandbox that runs what policies write cannot be started.
    #[error("failed to start the sandbox that runs a policy's programs")]
    Sandbox(#[from] StartError),
    /// The variable for its tier names none.
    #[error("`{ALLOW_TIER}` cannot be used")]
    Tier(#[source] UnknownTier),
    /// There is no Python for them.
    #[error(transparent)]
    Python(#[from] PythonError),
}

/// The environment, with a sandbox if it judges by runs of programs.
fn playable(mut world: Box<dyn Environment>) -> Result<Box<dyn Environment>, WorldError> {
    if world.runs_programs() {
        let mut options = SandboxOptions {
            modules: world.modules(),
            warm_up: false,
            ..SandboxOptions::default()
        };
        if let Ok(tier) = std::env::var(ALLOW_TIER) {
            options.allow_tier = tier.parse().map_err(WorldError::Tier)?;
        }
        let sandbox = Sandbox::start(&PythonEnv::locate()?, options, &[])?;
        world.set_runner(Arc::new(sandbox));
    }
    Ok(world)
}

/// The public half of a task.
///
/// # Errors
/// [`WorldError`].
pub fn open_train(folder: &Utf8Path) -> Result<TrainingItems, WorldError> {
    let world = playable(TaskFolder::open(folder)?.train()?)?;
    let (mut train, mut held_out) = (Vec::new(), Vec::new());
    for (place, id) in world.items().into_iter().enumerate() {
        let is_last = place % HELD_OUT_EVERY == HELD_OUT_EVERY - 1;
        if is_last { &mut held_out } else { &mut train }.push(id.clone());
    }
    Ok(TrainingItems { world, train, held_out })
}

/// Whether there is something to train on, without playing it.
///
/// # Errors
/// [`WorldError`].
pub(crate) fn check_train(folder: &Utf8Path) -> Result<(), WorldError> {
    TaskFolder::open(folder)?.train()?;
    Ok(())
}

/// The items of a part. Sealed ones are for graders: code that runs on behalf of an agent has a
/// folder without them.
///
/// # Errors
/// [`WorldError`].
pub fn open_part(folder: &Utf8Path, part: Part) -> Result<Box<dyn Environment>, WorldError> {
    let task = TaskFolder::open(folder)?;
    playable(match part {
        Part::Train => task.train(),
        Part::Dev => task.sealed()?.dev(),
        Part::Test => task.sealed()?.test(),
    }?)
}

/// The spec of the task in `folder`.
///
/// # Errors
/// [`FolderError`].
pub fn spec_of(folder: &Utf8Path) -> Result<TaskSpec, FolderError> {
    Ok(TaskFolder::open(folder)?.spec().clone())
}

/// Checks that a run in a task of a suite has no corpus.
///
/// # Errors
/// [`SettingsError::Range`].
pub(crate) fn check_place(
    world: Option<&Utf8PathBuf>,
    tasks: &Utf8Path,
) -> Result<(), SettingsError> {
    let Some(world) = world else { return Ok(()) };
    require(tasks.as_str().is_empty(), "world", world, "left out where there are `tasks`")
}
