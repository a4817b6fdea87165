//! Roles that chat models play.

mod question;
pub mod writer;

pub use question::Question;
