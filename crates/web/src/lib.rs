//! What servers and pages share.
//!
//! Servers (feature `server`): one listener with its limits on connections, tokens, and shutdown
//! on signals. Pages: one frame with one style sheet, and charts. Nothing here depends on tasks,
//! episodes or models.

pub mod chart;
#[cfg(feature = "server")]
mod linger;
#[cfg(feature = "server")]
pub mod listener;
pub mod page;
#[cfg(feature = "server")]
pub mod signals;
#[cfg(feature = "server")]
pub mod token;
