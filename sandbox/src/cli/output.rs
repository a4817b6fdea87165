//! What the program prints: text that is safe to show on a terminal, and an end without a message
//! when standard output is a closed pipe.
//!
//! Lines of ours begin in the first column. Of a script's output every line begins with `| `, so
//! that no script can print a line of ours.

use rustix::termios::tcgetwinsize;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write as _};
use std::os::fd::AsFd;
use tasks::text::{one_line, printable, printable_bytes, printable_json};

/// What stands before each line of a script's output.
const MARGIN: &str = "| ";
/// What stands before each further line of something that should have been one.
const INDENT: &str = "  ";
/// What a tab takes of a line at most.
const TAB: usize = 8;

/// The answer could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// The reader has closed the pipe, as `head` does: no error, and no place to report one.
    #[error("standard output was closed")]
    Closed,
    /// The error of writing, other than a closed pipe.
    #[error("failed to write to standard output")]
    Write(#[source] std::io::Error),
}

/// Prints one line of ours.
pub(crate) fn line(text: &str) -> Result<(), OutputError> {
    write(broken_up(&one_line(text), "", INDENT, columns(&std::io::stdout())).as_bytes())
}

/// Prints text of ours that has several lines and says nothing that a script or file could have
/// written.
pub(crate) fn block(text: &str) -> Result<(), OutputError> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write(format!("{}{end}", printable(text)).as_bytes())
}

/// Prints an object over several lines.
pub(crate) fn json(value: &impl Serialize) -> Result<(), OutputError> {
    json_text(&serde_json::to_string_pretty(value).map_err(broken)?)
}

/// Prints an object as one line.
pub(crate) fn json_line(value: &impl Serialize) -> Result<(), OutputError> {
    json_text(&serde_json::to_string(value).map_err(broken)?)
}

/// Prints an object that is JSON already.
pub(crate) fn json_text(text: &str) -> Result<(), OutputError> {
    block(&printable_json(text))
}

fn broken(error: serde_json::Error) -> OutputError {
    OutputError::Write(error.into())
}

/// Prints a script's output, as text in a margin.
pub(crate) fn quoted(bytes: &[u8]) -> Result<(), OutputError> {
    write(in_margin(&printable_bytes(bytes), columns(&std::io::stdout())).as_bytes())
}

/// Prints bytes as they are.
pub(crate) fn raw(bytes: &[u8]) -> Result<(), OutputError> {
    write(bytes)
}

/// Prints a line on standard error; a closed standard error is ignored.
pub(crate) fn note(text: &str) {
    let text = printable(text.trim_end()).replace('\n', &format!("\n{INDENT}"));
    let mut stderr = std::io::stderr().lock();
    let columns = columns(&stderr);
    for line in text.split('\n') {
        let _ = stderr.write_all(broken_up(line, "", INDENT, columns).as_bytes());
    }
}

/// Passes on bytes to standard error as they are.
pub(crate) fn raw_error(bytes: &[u8]) {
    let _ = std::io::stderr().lock().write_all(bytes);
}

fn write(bytes: &[u8]) -> Result<(), OutputError> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => OutputError::Closed,
        _ => OutputError::Write(error),
    })
}

/// The width of a terminal; none for what is no terminal, or does not know.
fn columns(stream: &(impl AsFd + IsTerminal)) -> Option<usize> {
    let size = stream.is_terminal().then(|| tcgetwinsize(stream).ok()).flatten()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Every line in the margin.
fn in_margin(text: &str, columns: Option<usize>) -> String {
    let lines = text.trim_end_matches('\n').split('\n');
    lines.map(|line| broken_up(line, MARGIN, MARGIN, columns)).collect()
}

/// A line after `first`. A terminal of so many columns would continue a long one in its first
/// column, where a script could make it look like a line of ours; so it is broken before, and
/// goes on after `next`.
fn broken_up(line: &str, first: &str, next: &str, columns: Option<usize>) -> String {
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(next.len()).max(TAB));
    let mut shown = first.to_owned();
    let mut used = 0;
    for c in line.chars() {
        let width = match c {
            '\t' => TAB,
            c if c.is_ascii() => 1,
            // At most; how wide others are is for the terminal to say.
            _ => 2,
        };
        if used + width > room {
            shown.push('\n');
            shown.push_str(next);
            used = 0;
        }
        shown.push(c);
        used += width;
    }
    shown.push('\n');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_line_of_a_script_has_the_margin() {
        assert_eq!(in_margin("a\n--- finished\n\n", None), "| a\n| --- finished\n");
        assert_eq!(in_margin("0123456789", Some(10)), "| 01234567\n| 89\n");
        assert_eq!(
            broken_up("raised Odd--- finished", "", INDENT, Some(12)),
            "raised Odd\n  --- finish\n  ed\n"
        );
        assert_eq!(in_margin("数据数据数据", Some(10)), "| 数据数据\n| 数据\n");
    }

    proptest! {
        #[test]
        fn output_lines_fit_the_width_of_the_terminal(bytes: Vec<u8>, columns in 10usize..200) {
            for line in in_margin(&printable_bytes(&bytes), Some(columns)).lines() {
                prop_assert!(line.starts_with(MARGIN));
                prop_assert!(line.chars().count() <= columns);
            }
        }
    }
}
