//! The environment server with the client of OpenEnv, and with clients of the worse sort.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod endings;
mod fixture;
mod fleet;
mod heavy;
mod mcp;
mod oracle;
mod play;
mod task_api;
mod worse;
