//! Seed tasks in, verified micro-scale ML task directories out.
//!
//! `seed -> dna -> blueprint -> assets -> thresholds -> task directory`; the story is told in
//! [`corpus::pipeline`].

pub mod baselines;
pub mod calibration;
pub mod corpus;
pub mod data;
pub mod media;
pub mod numeric;
pub mod package;
pub mod roles;
pub mod scenes;
pub mod show;
pub mod spec;
pub mod verify;
