//! Roles that chat models play.

mod conversation;
mod question;
mod role_model;

pub use question::Question;
pub use role_model::RoleModel;
