//! Roles that chat models play.

mod question;

pub use question::Question;
