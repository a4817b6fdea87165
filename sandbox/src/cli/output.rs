//! What the program prints: text that is safe to show, and a quiet end when nobody reads it.
//!
//! Lines of ours begin in the first column. Of a script's output every line begins with `| `, so
//! that no script can print a line of ours.

use rustix::termios::tcgetwinsize;
use sandbox::text::{one_line, printable, printable_bytes, printable_json};
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// What stands before each line of a script's output.
const MARGIN: &str = "| ";
/// What a tab takes of a line at most.
const TAB: usize = 8;

/// The answer could not be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    /// Whoever read it has gone: nothing to complain about, and nobody to complain to.
    #[error("nobody reads standard output any more")]
    Closed,
    /// The system's word.
    #[error("failed to write to standard output")]
    Write(#[source] std::io::Error),
}

/// Prints one line of ours.
pub(crate) fn line(text: &str) -> Result<(), OutputError> {
    write(format!("{}\n", one_line(text)).as_bytes())
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
    let stdout = std::io::stdout();
    let columns = stdout.is_terminal().then(|| tcgetwinsize(&stdout).ok()).flatten();
    // Of a terminal without a size nothing is known.
    let columns = columns.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    write(in_margin(&printable_bytes(bytes), columns).as_bytes())
}

/// Prints bytes as they are.
pub(crate) fn raw(bytes: &[u8]) -> Result<(), OutputError> {
    write(bytes)
}

/// Says something on standard error. That nobody listens there is no reason to end.
pub(crate) fn note(text: &str) {
    let text = text.trim_end().replace('\n', "\n  ");
    let _ = std::io::stderr().lock().write_all(format!("{}\n", printable(&text)).as_bytes());
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

/// Every line in the margin. A terminal of so many columns would continue a long line in its
/// first one, so there lines are broken before.
fn in_margin(text: &str, columns: Option<usize>) -> String {
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(MARGIN.len()).max(TAB));
    let mut shown = String::with_capacity(text.len() + text.len() / 16);
    for line in text.trim_end_matches('\n').split('\n') {
        shown.push_str(MARGIN);
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
                shown.push_str(MARGIN);
                used = 0;
            }
            shown.push(c);
            used += width;
        }
        shown.push('\n');
    }
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
        assert_eq!(in_margin("数据数据数据", Some(10)), "| 数据数据\n| 数据\n");
    }

    proptest! {
        #[test]
        fn no_terminal_breaks_a_line_itself(bytes: Vec<u8>, columns in 10usize..200) {
            for line in in_margin(&printable_bytes(&bytes), Some(columns)).lines() {
                prop_assert!(line.starts_with(MARGIN));
                prop_assert!(line.chars().count() <= columns);
            }
        }
    }
}
