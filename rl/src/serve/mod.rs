//! A policy behind OpenAI's protocol, so that any agent can drive it.
//!
//! ```text
//! POST /v1/chat/completions   messages in, a message out; tool calls, reasoning
//! POST /v1/completions        text or token ids in, text and token ids out
//! GET  /v1/models             the one model that is served
//! POST /tokenize, /detokenize text or messages as token ids, and back
//! GET  /health, /version      whether it generates; the version of this program
//! ```
//! Only the connections are asynchronous. One thread owns the engine. A request becomes one job
//! per choice, and jobs join and leave the batch at every step (`generate::jobs`). The engine returns
//! token ids; each choice decodes its own into text, reasoning and tool calls (`choice`, `text`,
//! `turn_parser`). When a client disconnects, its choices are dropped and their rows freed.
//!
//! `docs/SERVE.md` lists what is supported and what is refused. A parameter that would change a
//! choice is never ignored.

mod api_error;
mod chat;
mod choice;
mod completions;
mod config;
mod grammars;
mod messages;
mod parameters;
mod processor_options;
mod request_options;
mod respond;
mod server;
mod structured;
mod text;
mod tokens;
mod tools;
mod turn_parser;

pub use config::{InferenceConfig, InferenceError};
pub use server::InferenceServer;
