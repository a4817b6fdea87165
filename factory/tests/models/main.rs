//! Chat models in roles: a model that answers as the built-in roles would, behind a provider with
//! faults, and the command that asks it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod code;
mod command;
mod evaluators;
mod generators;
mod puppet;
mod server;
