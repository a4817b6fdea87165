//! A molecule as a graph, as far as generation needs it: reading and writing SMILES, patterns,
//! fingerprints and properties, each as RDKit has it for the molecules that are drawn here.
//!
//! Generation starts no process, so it cannot ask RDKit. Answers of a policy are never read by this
//! code: those go through RDKit in the sandbox ([`super::scorer`]). A test compares both on 1,000
//! molecules (`crates/worlds/tests/chemistry.rs`).

mod crippen;
mod cursor;
mod element;
mod molecule;
mod morgan;
mod pattern;
mod property;
mod read;
mod smarts;
mod write;

pub(super) use crippen::log_p;
pub(super) use molecule::Molecule;
pub(super) use morgan::{bits, tanimoto};
#[cfg(test)]
pub(super) use pattern::Pattern;
pub(super) use property::{qed, solubility};
