//! Seed tasks in, verified micro-scale ML task directories out.
//!
//! `seed -> dna -> blueprint -> assets -> thresholds -> task directory`;
//! [`corpus::pipeline`] runs every step. Each room uses only the rooms before it in this list:
//! [`numeric`], [`media`], [`spec`], [`generator`], [`data`], [`baselines`], [`kinds`], [`scenes`],
//! [`challenges`], [`page`], [`roles`], [`package`], [`verify`], [`corpus`], [`show`].
//! Beside them stand [`standin`], small invented data in the form of MLE-bench's competitions, and
//! [`anchors`], small real data in the form of our own tasks.

pub mod anchors;
pub mod baselines;
pub mod challenges;
pub mod corpus;
pub mod data;
pub mod generator;
pub mod kinds;
pub mod media;
pub mod numeric;
pub mod package;
pub mod page;
pub mod roles;
pub mod scenes;
pub mod show;
pub mod spec;
pub mod standin;
pub mod verify;
