//! The head of a table.

use super::html::shortened;
use super::task::Task;
use std::fmt::Write as _;
use web::html::escape;

/// Number of rows that are shown.
const HEAD: usize = 8;
/// Letters shown of a cell.
const WIDTH: usize = 40;

/// The first rows of `train.csv`, the target's columns marked.
pub(super) fn head(task: &Task) -> String {
    let truth = task.truth_columns();
    let table = &task.train;
    let marked: Vec<&str> = table
        .header
        .iter()
        .map(|name| if truth.contains(&name.as_str()) { " class=\"truth\"" } else { "" })
        .collect();
    let mut html = String::from("<div class=\"scroll\"><table class=\"data\">\n<tr>");
    for (name, mark) in table.header.iter().zip(&marked) {
        let _ = write!(html, "<th{mark}>{}</th>", escape(name));
    }
    html.push_str("</tr>\n");
    for row in table.rows.iter().take(HEAD) {
        html.push_str("<tr>");
        for (cell, mark) in row.iter().zip(&marked) {
            let _ = write!(html, "<td{mark}>{}</td>", shortened(cell, WIDTH));
        }
        html.push_str("</tr>\n");
    }
    let _ = write!(
        html,
        "</table></div>\n<p class=\"note\">The first {} of {} rows of <code>train.csv</code>; <code>test.csv</code> has {}.</p>",
        HEAD.min(table.rows.len()),
        table.rows.len(),
        task.test.rows.len()
    );
    html
}
