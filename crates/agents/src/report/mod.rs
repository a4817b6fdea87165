//! One self-contained HTML page that shows a run: tasks, curves, comparison, trajectories.

mod chart;
mod page;

pub use chart::{Chart, Line};
pub use page::{CardError, Report, TaskCard};

/// Text made safe for HTML content and double-quoted attributes.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
