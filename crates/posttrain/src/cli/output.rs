//! What the program prints: data on standard output, notes on standard error.

use serde::Serialize;
use std::io::{self, Write as _};

/// Prints a line of data.
pub(crate) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Prints a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> io::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// Prints a line for people.
pub(crate) fn note(text: &str) {
    // There is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
