//! Texts beside their targets; texts of one row side by side.

use super::html::escaped;
use super::task::Task;
use std::fmt::Write as _;

/// Rows shown.
const COUNT: usize = 5;

/// Some rows' texts, or nothing if the rows have none.
pub(super) fn show(task: &Task) -> String {
    let truth = task.truth_columns();
    let columns: Vec<usize> = task
        .train
        .prose()
        .into_iter()
        .filter(|column| !truth.contains(&task.train.header[*column].as_str()))
        .collect();
    if columns.is_empty() {
        return String::new();
    }
    let mut html = String::new();
    for row in task.examples(COUNT) {
        let _ = write!(
            html,
            "<article class=\"text\"><p class=\"target\">{}</p><div class=\"side\">",
            escaped(&task.label(row))
        );
        for column in &columns {
            let cell = &task.train.rows[row][*column];
            let _ = write!(html, "<blockquote>{}</blockquote>", escaped(cell));
        }
        html.push_str("</div></article>\n");
    }
    html
}
