//! The corpus folder: making it, continuing it, merging it, reading it as data frames, exporting it.

mod attempt;
pub mod export;
pub mod folder;
pub mod forecast;
pub mod frames;
pub mod ledger;
pub mod merge;
pub mod pipeline;
pub mod tree;
