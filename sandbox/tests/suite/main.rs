//! Scripts in the jail: honest ones get their work done, hostile ones get nothing else.
//!
//! Each program in `tests/hostile/` tries one thing and is named for it. It asserts in its own
//! words that it failed to get it, so an ending other than "finished" means that a barrier did
//! not hold (or that the program is wrong).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod collection;
mod commands;
mod endings;
mod fixture;
mod honest;
mod hostile;
mod lifetime;
