//! Roles that chat models play: questions as pure functions of their inputs, and answers that are
//! read and checked by pure functions, too.

mod author;
mod conversation;
pub mod developer;
mod facets;
mod fenced;
mod judge;
mod kept_generators;
mod operator;
mod prompt;
pub mod puppet;
mod question;
mod role_model;
mod roles;
mod rule;
mod story;
#[cfg(test)]
mod tests;
mod writer;

pub use facets::Facets;
pub use question::Question;
pub use role_model::RoleModel;
pub use roles::{ModelPrograms, ModelRoles, ModelRolesError};
pub use rule::{parse_terms, rule_question};
pub use story::{is_about_story, parse_story, story_question};
