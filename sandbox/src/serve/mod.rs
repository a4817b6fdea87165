//! The environment server: many episodes at a time over OpenEnv's WebSocket protocol.
//!
//! One connection is one session, and plays one episode at a time. The connections are
//! asynchronous, and only they: episodes run on threads that may block, one step of an episode
//! at a time, and every episode is written down ([`Recorded`](crate::env::Recorded)).
//!
//! ```text
//! GET /ws            reset, step, state, close; tools are called by steps
//! GET /health        whether it is up; needs no token
//! GET /metadata      what it serves
//! GET /schema        the forms of actions, observations and states
//! GET /openapi.json  the above for machines
//! ```
//! Built from the behaviour of `openenv-core` 0.3.0, whose client plays against it in the tests.

mod config;
mod episode_counts;
mod pages;
mod protocol;
mod reveal;
mod reward;
mod served_episode;
mod server;
mod session;

pub use config::{ServeConfig, ServeError, ServeLimits};
pub use reveal::Reveal;
pub use reward::{feedback_value, final_value, revealed_value};
pub use server::EpisodeServer;
