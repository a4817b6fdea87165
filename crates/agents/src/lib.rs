//! Agents that solve tasks, their turn grammar, trajectories and rewards.
//!
//! `episode -> trajectory -> reward`

pub mod automind;
mod card;
pub mod fence;
pub mod grammar;
pub mod guide;
pub mod knowledge;
pub mod linear;
pub mod overflow;
pub mod overview;
pub mod play;
pub mod preset;
pub mod prompt;
pub mod reference;
pub mod remote;
pub mod reward;
pub mod run;
pub mod scaffold;
pub mod script;
pub mod script_cache;
pub mod search;
pub mod summary;
pub mod synced_lines;
pub mod trajectory;
