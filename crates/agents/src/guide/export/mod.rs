//! Guided runs as training samples: each a trajectory with what of every turn is trained on.
//!
//! `transcript -> views; verdicts, context -> samples`, many of them with a manifest.
//!
//! A run is one view, unless its conversation was summarised: then there is one up to each summary, one of
//! each summary, and the last.
//!
//! A sample of a guided run is never one of an unguided one: its trajectory says so, whatever its context
//! leaves out. What a context cuts out must have been possible to be without, which is proved by playing
//! what is left again.

mod episode;
mod excise;
#[cfg(test)]
mod laws;
mod manifest;
mod sample;
mod settings;
mod view;
mod write;

pub use excise::{Different, PlayedAgain, PlaysAgain, ReplayFailure, WorldAgain, is_confirmed};
pub use manifest::{ContextCounts, GuidanceCost, MANIFEST_VERSION, Manifest, TurnCounts};
pub use sample::{PartMask, SAMPLE_VERSION, Sample, SampleError, read_samples};
pub use settings::{ExportSettings, SampleContext};
pub use write::{ExportError, Exported, export};
