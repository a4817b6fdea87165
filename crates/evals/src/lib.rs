//! Who is better: agents compared on the same tasks.
//!
//! `trajectories -> rows of a table -> a page`. Also the calibration of corpora, which compares
//! scripted agents of known strength.

pub mod ablation;
pub mod anchoring;
pub mod bench;
pub mod calibration;
pub mod evaluation;
pub mod rating;
pub mod report;
pub mod runner;
pub mod statistics;
