//! Agents on a benchmark: from finished runs to percentages with their errors, to the files of
//! mle-bench, and to the rows of the paper beside ours.
//!
//! `runs of one kind of data -> BenchTable -> page, files, terminal`

pub mod boards;
pub mod conditions;
pub mod contender;
mod grading;
pub mod human_rank;
pub mod machine;
pub mod measure;
pub mod mlebench_files;
pub mod outcome;
pub mod output;
pub mod packages;
pub mod paper;
pub mod runner;
pub mod steps;
pub mod suite;
pub mod summary;
pub mod way;
