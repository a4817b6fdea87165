//! Corpora, tasks and commands from end to end: in one program, because each would be linked anew.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anchors;
mod audio;
mod automind;
mod calibration;
mod definitions;
mod demonstrations;
mod evaluator;
mod export;
mod fits;
mod formats;
mod gallery;
mod generate;
mod generators;
mod harbor;
mod hf;
mod labels;
mod ladder;
mod merge;
mod models;
mod nodes;
mod rating;
mod records;
mod rewards;
mod standins;
mod stats;
