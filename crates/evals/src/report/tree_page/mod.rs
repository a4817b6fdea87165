//! The page of one run: its tree or its turns, and what became of each.

mod diff;
mod layout;
mod page;
mod step;
mod svg;
mod text;

pub use page::TreePage;
