//! Roles that chat models play.

mod author;
mod conversation;
mod question;
mod role_model;
mod roles;

pub use question::Question;
pub use role_model::RoleModel;
pub use roles::{MissingModel, ModelRoles};
