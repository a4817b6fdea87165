//! The server: one task, one agent, one ledger.
//!
//! Requests of the agent come over HTTP and take a snapshot of what they submit; one thread grades, in
//! order, and decides by the state alone what comes next. The operator has a socket of its own. No route
//! sets a score, and nothing that an agent can write to is ever read back.
//!
//! A server may run beside what watches over the agent ([`crate::run`]), which has a [`RunHandle`].

mod access;
mod answers;
mod config;
mod handle;
mod operator;
mod plan;
mod release;
mod routes;
mod server;
mod shared;
mod submit;
mod uses;
mod views;
mod worker;

pub use config::{ServeConfig, ServeError};
pub use handle::{Phase, RunHandle};
pub use server::GradingServer;
