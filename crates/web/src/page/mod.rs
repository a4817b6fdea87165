//! The frame of every HTML page: one file with all that it needs, in light and dark.

mod document;
mod palette;

pub use document::{Document, prose, scroll, style_sheet};
