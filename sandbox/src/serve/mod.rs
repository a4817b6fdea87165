//! The environment server: many episodes at a time over OpenEnv's protocol, and over MCP.
//!
//! A client has a session, and plays one episode at a time in it. Connections are asynchronous, and
//! only they: episodes run on threads that may block, one step of an episode at a time, and every
//! episode is written down ([`Recorded`](crate::env::Recorded)).
//!
//! ```text
//! GET /ws                  reset, step, state, mcp, close; tools are called by steps
//! POST, DELETE /mcp        JSON-RPC: tools are listed and called by methods
//! GET /list_environments   the task API: splits, tasks and their pages, without a session
//! GET /health              whether it takes episodes; needs no token
//! GET /metrics             counts in Prometheus' text format
//! GET /metadata            what it serves
//! GET /schema              the forms of actions, observations and states
//! GET /openapi.json        the above for machines
//! ```
//! Built from the behaviour of `openenv-core` 0.3.0 and `openenv` 0.10.0, whose clients play against
//! it in the tests.

mod body;
mod config;
mod connection;
mod episode_counts;
mod json_rpc;
mod mcp;
mod mcp_http;
mod metrics;
mod pages;
mod protocol;
mod reveal;
mod reward;
mod served_episode;
mod server;
mod session;
mod sessions;
mod socket;
mod task_api;
mod task_choice;
mod tools;

pub use config::{ServeConfig, ServeError, ServeLimits};
pub use reveal::Reveal;
pub use reward::{feedback_value, final_value, revealed_value};
pub use server::EpisodeServer;
pub use task_choice::DrawnTasks;
