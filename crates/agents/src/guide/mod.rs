//! Guidance: a person advises an agent while it works, as a durable conversation in which nothing is
//! lost and nothing comes twice (APOLLO).
//!
//! `turn -> exchange -> guidance -> next turn`, beside it `person -> post, edit, retract, hold, judge`.
//!
//! The agent never waits for a person, unless one holds the run. Each turn is told once, and the answer
//! is the guidance that the agent does not have yet. State is a fold over a journal of which every line
//! is on the disk before anything is answered, so either side may be killed at any moment.
//!
//! | file | what it is about |
//! | --- | --- |
//! | `ids`, `guidance`, `turn`, `event` | names, a piece of guidance, what an agent tells, what a journal holds |
//! | `conversation`, `turns`, `context`, `concern` | the fold; what an agent had read at a turn; why a run needs a look |
//! | `store`, `agents`, `people` | conversations on disk, and what either side asks of them |
//! | `channel`, `source`, `client`, `wire` | an agent's way to its conversation, and what passes between a server and its clients |
//! | `guided_run`, `guided_episode`, `advice` | an agent's end of its conversation, that of an episode in memory, and what the agent reads of advice |
//! | `transcript`, `verdicts` | a conversation with its texts; which turns to learn from, by people, rules and a judge |
//! | `export` | guided runs as training samples |
//! | `judge` | a model that judges turns |
//! | `person` | a scripted person, in one process or at a server |
//! | `replay` | a conversation that is over, told again as if it went on now |
//! | `defuse` | scripts cannot speak as a person, nor to a terminal or page |
//! | `annotators`, `serve` | who may do what; the server (feature `serve`) |
//!
//! It must never let advice count as the agent's own: guided runs say so in their header and their
//! trajectory, and are not compared with unguided ones.

pub mod advice;
mod agents;
#[cfg(feature = "serve")]
pub mod annotators;
pub mod channel;
mod client;
pub mod concern;
pub mod context;
pub mod conversation;
pub mod defuse;
pub mod error;
pub mod event;
pub mod exchange;
pub mod export;
pub mod guidance;
pub mod guided_episode;
pub mod guided_run;
pub mod ids;
pub mod judge;
pub mod people;
pub mod person;
pub mod replay;
#[cfg(feature = "serve")]
pub mod serve;
pub mod settings;
pub mod source;
pub mod store;
pub mod transcript;
pub mod turn;
pub mod turns;
pub mod verdicts;
pub mod wire;
