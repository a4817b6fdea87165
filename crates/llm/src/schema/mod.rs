//! JSON schemas that every provider takes, and answers that follow one.
//!
//! The schema of an answer is derived from the very type that parses it, and narrowed to what all
//! providers accept: objects whose properties are all required, strings, numbers, booleans, arrays,
//! enumerations of strings, and `anyOf` with `null`. References are replaced by what they name.
//! Bounds go into the description, because providers refuse them; the type checks them.

mod answer;
mod narrow;

pub use answer::{AnswerError, parse};
pub use narrow::{SchemaError, narrow};
