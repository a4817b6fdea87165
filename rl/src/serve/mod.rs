//! A policy behind OpenAI's protocol, so that any agent can drive it.
//!
//! ```text
//! POST /v1/chat/completions   messages in, a message out; tools, thoughts
//! POST /v1/completions        text or token ids in, text and token ids out
//! GET  /v1/models             the one model that is served
//! ```
//! Connections are asynchronous, and only they. One thread owns the engine; a request becomes a
//! job per answer, and jobs join and leave the batch at every step (`generator`). What the
//! engine makes are ids: each answer turns its own into text (`answer`, `text`, `turn`). A
//! client that goes away drops its answers, and that frees their rows.
//!
//! What is supported, and what is refused, is in `docs/SERVE.md`. No parameter is ignored that
//! would change an answer.

mod answer;
mod chat;
mod completions;
mod config;
mod generator;
mod parameters;
mod refusal;
mod respond;
mod server;
mod text;
mod turn;
mod wanted;

pub use config::{ServeConfig, ServeError};
pub use server::Server;
