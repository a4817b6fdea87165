//! `factory inspect DIR --html FILE`: a corpus or a task as one page for a browser.
//!
//! `folder -> choice -> task on disk -> sections -> page`. The page is self-contained: styles,
//! pictures, sounds and charts are inside it, and it fetches nothing. Everything that is shown
//! comes from the task's files, checked against the manifest first, and the templates escape every
//! text among it. The same folder gives the same page, byte for byte.

mod charts;
mod choice;
mod error;
mod graphs;
mod leaks;
mod markdown;
mod nearness;
mod page;
mod parts;
mod pictures;
pub(crate) mod rows;
mod sounds;
mod tables;
mod task;
mod texts;

pub use choice::{LIMIT, Wish};
pub use error::GalleryError;
pub use page::page;
