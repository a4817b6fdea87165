//! The gateway to chat models: what an agent in its box asks them through.
//!
//! `request of the agent -> token, model, caps -> provider, with the operator's key -> answer -> a line`
//!
//! It speaks OpenAI's and Anthropic's protocols and passes on what an agent's own client wrote, tools and
//! streams included. Keys, prices and providers are those of `llm`. The agent has a token of its run and
//! never a key; it reaches the models that the run names and nothing else, at most as many tokens as the
//! run allows, for at most as much money. Each request has its lines in `gateway.jsonl` beside the ledger,
//! which a restarted gateway counts on from.

mod access;
mod account;
mod book;
mod denial;
mod exchange;
mod lines;
mod models;
mod moment;
mod question;
mod recorded;
mod routes;
mod server;
mod settings;
mod shared;

pub use account::Caps;
pub use lines::{GatewayEvent, GatewayLine, GatewayTotals, read_gateway_lines};
pub use models::OfferedModels;
pub use moment::RunMoment;
pub use server::{ChatGateway, GatewayHandle};
pub use settings::{GatewayError, GatewayRecord, GatewaySettings};

/// The file of lines in the sealed folder.
pub(crate) const LINES: &str = "gateway.jsonl";
/// The recording in it, where one is made.
pub(crate) const RECORDING: &str = "recording.jsonl";
