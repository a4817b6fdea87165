//! Scripts in the jail: honest ones get their work done, hostile ones get nothing else.
//!
//! Each program in `tests/hostile/` tries one thing, is named for it and says what must happen
//! (see [`program`]). Where that is "finished" it asserts in its own words that it got nothing, so
//! any other ending means that a barrier did not hold (or that the program is wrong).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod cancel;
mod collection;
mod commands;
mod endings;
mod fixture;
mod gpus;
mod honest;
mod hostile;
mod imports;
mod lifetime;
mod on_disk;
mod program;
mod served;
mod session;
mod thousand;
mod tiers;
mod weights;
