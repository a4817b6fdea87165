//! The four roles that make a task, behind one trait.
//!
//! [`Builtin`] plays them all by seeded procedures. Another implementation (a chat model, say)
//! implements [`Roles`] and goes through the same blueprint, packaging and verification. Why its
//! work was refused comes back to a role as [`RoleFeedback`].

#[cfg(test)]
mod briefs;
mod call;
pub mod developer;
mod error;
mod evaluator_trial;
mod facts;
pub mod families;
pub mod generated;
pub mod model;
mod mutations;
mod name;
mod nominal;
pub mod operator;
mod parts;
mod permits;
mod role;
mod rule_request;
pub mod scoring;
mod series;
pub mod shares;
#[cfg(test)]
mod signs;
mod spread;
pub mod strategist;
mod structure;
#[cfg(test)]
mod traits;

pub use call::{RoleAuthor, RoleCall, RoleCost, RoleFeedback, RoleReply};
pub use error::{RoleCheckError, RoleFault, RoleRefusal, SPENT};
pub use evaluator_trial::EvaluatorTrial;
pub use facts::TaskFacts;
pub use name::{RoleName, TaskPart};
pub use permits::{WorkPermit, WorkPermits};
pub use role::{Brief, Builtin, RoleBackend, Roles, TaskPage};
pub use rule_request::{RuleAuthor, RuleColumn, RuleColumns, RuleDraft, RuleRequest};
