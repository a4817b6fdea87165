//! The four roles that make a task, behind one trait.
//!
//! [`Builtin`] plays them all by seeded procedures. Another implementation (a chat model, say)
//! implements [`Roles`] and goes through the same blueprint, packaging and verification; a
//! refused attempt comes back to it as [`Brief::feedback`].

pub mod developer;
pub mod families;
mod mutations;
pub mod operator;
mod parts;
mod role;
pub mod scoring;
mod series;
pub mod strategist;
pub mod writer;

pub use role::{Brief, Builtin, Development, RoleError, Roles};
