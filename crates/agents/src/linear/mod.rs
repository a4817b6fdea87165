//! Linear agents: one conversation, a turn at a time.
//!
//! `conversation -> player -> turn -> script -> reply -> conversation`
//!
//! A run that was killed goes on with the conversation that it had. Scripts of the ReAct agent
//! share a work dir, so they are run again first.
//!
//! Where the conversation does not fit into the context any more, turns are left out, or make way for a
//! summary that the agent writes of them.
//!
//! In a guided run, every turn is told in a conversation that people read, and what they advise is
//! written down and shown before the next question ([`guide`](crate::guide)).

pub mod again;
mod conversation;
pub(crate) mod guidance;
mod mle_agent;
mod react;
pub(crate) mod record;
pub mod run;
pub mod settings;
mod summary;
mod turn;

use crate::grammar;
use crate::run::player::LinearAgent;

/// The turn of an agent that runs `code`.
pub fn script_turn(agent: LinearAgent, thought: &str, code: &str) -> String {
    match agent {
        LinearAgent::React => grammar::python_turn(thought, code),
        LinearAgent::MleAgent => mle_agent::execute_turn(code),
    }
}

/// The script that a turn of MLE-Dojo's agent runs; `None` if it is no such turn, or runs none.
pub fn script_of_action(turn: &str) -> Option<String> {
    mle_agent::script(turn)
}

/// The turn of an agent that has nothing more to do: it ends where that can be said, else it asks
/// for something that costs nothing.
pub fn last_turn(agent: LinearAgent, thought: &str) -> String {
    match agent {
        LinearAgent::React => grammar::answer_turn(thought),
        LinearAgent::MleAgent => mle_agent::idle_turn(),
    }
}
