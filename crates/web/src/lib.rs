//! What servers and pages share.
//!
//! Servers (feature `server`): one listener with its limits on connections, tokens, and shutdown
//! on signals. Pages: escaping and charts. Nothing here depends on tasks, episodes or models.

pub mod chart;
pub mod html;
#[cfg(feature = "server")]
mod linger;
#[cfg(feature = "server")]
pub mod listener;
#[cfg(feature = "server")]
pub mod signals;
#[cfg(feature = "server")]
pub mod token;
