//! Small graphs, one per row: who is linked with whom, which way, and how strongly.
//!
//! An item is a list of links in a CSV file. Its clean structure is made to measure: first the
//! `wiring` (who is linked), which fixes the degrees and the triangles exactly, then the
//! `dressing` (directions, kinds of nodes, weights), which leaves the wiring alone. So the
//! statistics can be set almost independently of each other. The way back is a `sheet` as
//! written, `features` that know nothing of the task, and the `estimates`.

mod dressing;
mod estimates;
mod features;
mod network;
pub mod nodes;
mod sheet;
mod wiring;

pub use network::Network;
