//! An environment whose replies are cached.

use super::cache::ScriptCache;
use super::key::Key;
use super::play::CachedPlay;
use crate::play::{Play, World};
use crate::prompt::{Prompt, PromptError};
use sandbox::env::EpisodeFault;
use std::time::Duration;
use tasks::task::TaskId;

/// An environment that gives recorded replies to turns that were played before.
///
/// Recorded are replies that follow from the turns alone ([`Play::is_repeatable`]), with the result
/// of an episode that ends there. Faults are not recorded, and neither are scripts that a limit or a
/// signal ended, nor replies that state a time; after such a turn an episode is played for real to
/// its end. Malformed turns are turns like others.
///
/// A turn that is new starts a real episode, in which the turns before it are run first. If their
/// replies are others now than those recorded, the agent has already seen the recorded ones; the
/// episode goes on from the real state, its records and its reward are those of the real run, and the
/// turn is not answered from the cache any more.
///
/// The wall time of an episode counts from its first turn. A recorded reply takes no time, and running
/// turns again takes as long as it takes. A script may run beyond the end of the wall time, by its
/// own time limit at most; the episode ends with it.
#[derive(Debug, Clone, Copy)]
pub struct CachedWorld<'a> {
    world: &'a dyn World,
    cache: &'a ScriptCache,
}

impl<'a> CachedWorld<'a> {
    /// `world` with the replies in `cache`. Where [`World::cache_key`] is `None`, its episodes are
    /// played as without a cache.
    pub fn new(world: &'a dyn World, cache: &'a ScriptCache) -> Self {
        Self { world, cache }
    }
}

impl World for CachedWorld<'_> {
    fn prompt(&self, item: &TaskId) -> Result<Prompt, PromptError> {
        self.world.prompt(item)
    }

    fn wall_limit(&self) -> Duration {
        self.world.wall_limit()
    }

    fn open(&self, item: &TaskId) -> Result<Box<dyn Play + '_>, EpisodeFault> {
        match self.world.cache_key(item) {
            None => self.world.open(item),
            Some(conditions) => {
                let key = Key::episode(&conditions);
                Ok(Box::new(CachedPlay::new(self.world, self.cache, item, key)))
            }
        }
    }

    fn cache_key(&self, item: &TaskId) -> Option<String> {
        self.world.cache_key(item)
    }

    fn turn_cache_key(&self, text: &str) -> String {
        self.world.turn_cache_key(text)
    }
}
