//! Servers that generate or train for us, over HTTP: what their clients share.

mod http;

pub use http::{Server, ServerError};
