//! What the public files of a task are, in a page of text that a prompt can hold.

mod contents;
mod page;
mod table;
mod tree;
mod words;

pub use page::DataOverview;
