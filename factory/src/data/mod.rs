//! A task's data, drawn from its blueprint: tables, items, networks and labels.

pub mod answers;
pub mod assets;
mod bonds;
pub mod items;
pub mod json_lines;
pub mod labels;
mod latents;
pub mod likeness;
pub mod mutation;
pub mod network;
pub(crate) mod nominal;
pub mod parquet;
pub mod places;
mod readings;
pub mod records;
pub mod score;
pub mod series;
pub mod table;
pub mod table_file;
pub mod tabular;
