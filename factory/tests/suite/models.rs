//! Chat models in roles: a model that answers as the built-in roles would, behind a provider with
//! faults, and the command that asks it.

mod code;
mod command;
mod evaluators;
mod generators;
mod puppet;
mod server;
