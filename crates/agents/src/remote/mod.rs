//! Episodes on other machines: a fleet of `sandbox serve` processes behind one list of addresses.
//!
//! `addresses -> Fleet -> lease on the least loaded server -> RemotePlay`
//!
//! [`RemoteWorld`] is a [`World`](crate::play::World) like
//! [`MleWorld`](crate::scaffold::react::MleWorld): the same turns get the same replies, records and
//! rewards, because turns are parsed, and rewards computed, here. Scripts and graders run there, over
//! OpenEnv's WebSocket (`docs/OPENENV.md`). Files of a task that agents do not see are not read here,
//! but for its manifest.
//!
//! A server that dies takes its episodes with it. They are played again from their beginning on
//! another server, turn by turn, and go on there; if a repeated turn gets another reply than the
//! first time, the agent has already seen what is no longer true, and the episode ends with a fault.
//!
//! It must never play by other rules than asked for: a server that states other ones, or another
//! version of the task, is refused.

mod address;
mod answer;
mod connection;
mod error;
mod fleet;
mod health;
mod play;
mod world;

pub use address::ServerAddress;
pub use error::RemoteError;
pub use fleet::{Fleet, FleetOptions, FleetUse};
pub use world::RemoteWorld;
