//! Guided conversations: laws of delivery, the store, the agent's end.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod fixture;
mod fold;
mod laws;
mod rules;
mod store;
