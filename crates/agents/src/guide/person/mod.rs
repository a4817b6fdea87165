//! A scripted person: advises agents by rules, for tests, experiments and demonstrations without people.
//!
//! `turns as the page shows them -> rules, draws -> guidance`
//!
//! It reads what people read and nothing else: no private file, no grade before the end. In one process
//! it keeps step with the agent, and repeats; over a server it is a client like any other.

mod lockstep;
mod remote;
mod rules;
mod scripted;

pub use lockstep::LockstepPerson;
pub use remote::{RemotePerson, RemoteReport};
pub use rules::{BadPersonRules, DropFlag, OutcomeFlag, PersonRule, PersonRules};
pub use scripted::{Saying, ScriptedPerson, SeenRun, SeenTurn};
