//! The guide server: agents tell their turns, people read along and advise them.
//!
//! Agents push and the server never calls anybody. Events go down as a stream (SSE), what people write
//! comes up as requests. Handlers are asynchronous, and only they: the store runs on threads that may
//! block, because every answer waits for the disk. `docs/GUIDANCE.md` has the protocol.
//!
//! It must never run or show as markup what comes from a model or a script: answers for people are JSON
//! or text, with control characters shown as symbols, under a policy that lets no script of others run.

mod access;
mod answer;
mod body;
mod config;
mod events;
mod of_agents;
mod of_people;
mod page;
mod presence;
mod search;
mod server;
mod views;

pub use config::{GuideServeError, GuideServerConfig};
pub use server::GuideServer;
