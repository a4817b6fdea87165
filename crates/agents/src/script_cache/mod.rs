//! A cache of environments' replies: what was run before is not run again.
//!
//! `turn -> key of the turns so far -> recorded reply, or a real run`
//!
//! A small policy repeats itself: most of its scripts have been run before, on the same task after
//! the same turns. [`CachedWorld`] gives such a turn the reply that was recorded then, and starts a
//! real episode only for a turn that is new.
//!
//! It must never change a result: a reply is recorded only if it follows from the turns alone
//! ([`Play::is_repeatable`]), and one recorded reply in fifty is compared with a real run.
//!
//! The cache is in memory, for one run of a program, and in a folder too where one is given: then the
//! runs on a machine answer each other's scripts. Whether a turn was cached is in its [`TurnRecord`]; it
//! and the seconds of a turn depend on what ran before and beside it, and nothing else does.
//!
//! [`Play::is_repeatable`]: crate::play::Play::is_repeatable
//! [`TurnRecord`]: crate::trajectory::TurnRecord

mod cache;
mod file;
mod key;
mod play;
#[cfg(test)]
mod tests;
mod world;

pub use cache::{ScriptCache, ScriptCacheUse};
pub use file::ScriptCacheError;
pub(crate) use key::task_key;
pub use world::CachedWorld;
