//! Landlock: a second barrier for files, TCP, signals and abstract sockets, which the kernel
//! enforces on the process tree independently of mounts and namespaces.

use ::landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, PathFdError,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use std::path::Path;

/// The newest rules this build knows; older kernels enforce what they can of them.
const RULES: ABI = ABI::V6;

/// Where a run may write.
const WRITABLE: [&str; 3] = [super::enter::WORK, "/tmp", "/dev/shm"];
/// Devices that a run may write to.
const WRITABLE_DEVICES: [&str; 2] = ["/dev/null", "/dev/zero"];

/// The rules could not be put up.
#[derive(Debug, thiserror::Error)]
pub enum LandlockError {
    /// The kernel has no Landlock, or it was not switched on at boot.
    #[error("the kernel does not offer it")]
    Unsupported,
    /// A path of the rules could not be opened.
    #[error("could not open a path of the rules ({0})")]
    Path(#[from] PathFdError),
    /// The kernel refused the rules.
    #[error("the kernel refused the rules ({0})")]
    Rules(#[from] RulesetError),
}

/// Restricts the calling process and its descendants: read and execute anywhere in the box,
/// write in three places, use the device nodes `gpus`, no TCP, no signals or abstract sockets
/// across the border.
///
/// # Errors
/// A [`LandlockError`].
pub fn apply(gpus: &[String]) -> Result<(), LandlockError> {
    let all = AccessFs::from_all(RULES);
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .handle_access(AccessNet::from_all(RULES))?
        .scope(Scope::from_all(RULES))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(RULES)))?;
    for path in WRITABLE {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, all))?;
    }
    for path in WRITABLE_DEVICES {
        let write = AccessFs::ReadFile | AccessFs::WriteFile;
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, write))?;
    }
    // The box's own process list, in which a run may write about itself and its namespaces.
    enforced(with_gpus(rules, gpus, "/proc")?)
}

/// Restricts the calling process and its descendants in the box of a long program: read and execute
/// anywhere in it, write below `writable` and to what the box's process list says of them, use the
/// device nodes `devices`, no signals or abstract sockets across the border. TCP is allowed, for the
/// box has a network of its own.
///
/// # Errors
/// A [`LandlockError`].
pub fn apply_to_program(writable: &[&str], devices: &[&str]) -> Result<(), LandlockError> {
    let all = AccessFs::from_all(RULES);
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .scope(Scope::from_all(RULES))?
        .create()?
        .add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(RULES)))?;
    for path in writable.iter().chain(&["/tmp", "/dev/shm"]) {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, all))?;
    }
    let file = AccessFs::ReadFile | AccessFs::WriteFile;
    for path in WRITABLE_DEVICES.iter().chain(&["/proc"]) {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, file))?;
    }
    for path in devices {
        let device = file | AccessFs::IoctlDev;
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, device))?;
    }
    enforced(rules)
}

/// Keeps signals and abstract sockets of the calling process and its descendants among them.
///
/// # Errors
/// A [`LandlockError`]; unlike [`apply`], this fails on a kernel that knows only a part of it.
pub fn apply_scopes() -> Result<(), LandlockError> {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    enforced(rules.scope(Scope::from_all(RULES))?.create()?)
}

/// Restricts the calling process and its descendants to reading below `readable`, to reading and
/// writing below `writable`, to the device nodes `gpus`, and like [`apply`] in all else.
///
/// # Errors
/// A [`LandlockError`]; unlike [`apply`], this fails on a kernel that knows only a part of it.
pub fn apply_allowlist(
    readable: &[&str],
    writable: &[&str],
    gpus: &[String],
) -> Result<(), LandlockError> {
    let all = AccessFs::from_all(RULES);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)?
        .handle_access(AccessNet::from_all(RULES))?
        .scope(Scope::from_all(RULES))?
        .create()?;
    for path in readable {
        let read = AccessFs::from_read(RULES);
        // Of a file there is nothing to list.
        let read = if Path::new(path).is_dir() { read } else { read & AccessFs::from_file(RULES) };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, read))?;
    }
    for path in writable {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, all))?;
    }
    for path in WRITABLE_DEVICES {
        let write = AccessFs::ReadFile | AccessFs::WriteFile;
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, write))?;
    }
    // The host's process list: of it, only the threads of the run's first process.
    enforced(with_gpus(rules, gpus, "/proc/self/task")?)
}

/// Opens the device nodes `gpus`, and, to runs that use them, the threads' names below `threads`:
/// CUDA names its own, and does not begin if it cannot.
fn with_gpus(
    mut rules: RulesetCreated,
    gpus: &[String],
    threads: &str,
) -> Result<RulesetCreated, LandlockError> {
    let file = AccessFs::ReadFile | AccessFs::WriteFile;
    for path in gpus {
        let device = file | AccessFs::IoctlDev;
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, device))?;
    }
    if !gpus.is_empty() {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(threads)?, file))?;
    }
    Ok(rules)
}

fn enforced(rules: RulesetCreated) -> Result<(), LandlockError> {
    match rules.restrict_self()?.ruleset {
        RulesetStatus::NotEnforced => Err(LandlockError::Unsupported),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}
