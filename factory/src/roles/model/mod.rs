//! Roles that chat models play.

pub mod developer;
mod question;

pub use question::Question;
