//! Texts beside their targets; texts of one row side by side, those in files as documents.

use super::GalleryError;
use super::task::{Items, Task};
use fs_err as fs;
use std::fmt::Write as _;
use web::html::escape;

/// Number of rows that are shown.
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
    let cells = |row: usize| columns.iter().map(move |column| &task.train.rows[row][*column]);
    let side_by_side = |row: usize| {
        let quotes = cells(row).map(|cell| quote(&[cell.as_str()]));
        article(&task.label(row), &quotes.collect::<String>())
    };
    task.examples(COUNT).into_iter().map(side_by_side).collect()
}

/// HTML with the documents of the example rows; fails if a file is unreadable.
pub(super) fn documents(task: &Task, items: Items) -> Result<String, GalleryError> {
    let mut html = String::new();
    for row in task.examples(COUNT) {
        let path = task.item_path(&task.train.rows[row][items.column])?;
        let text = fs::read_to_string(path)?;
        let paragraphs: Vec<&str> = text.split("\n\n").collect();
        html.push_str(&article(&task.label(row), &quote(&paragraphs)));
    }
    Ok(html)
}

/// Texts beside what they are to tell.
fn article(label: &str, quotes: &str) -> String {
    format!(
        "<article class=\"text\"><p class=\"target\">{}</p><div class=\"side\">{quotes}</div>\
         </article>\n",
        escape(label)
    )
}

/// A text of one paragraph or several.
fn quote(paragraphs: &[&str]) -> String {
    let mut html = String::from("<blockquote>");
    for (index, paragraph) in paragraphs.iter().enumerate() {
        let apart = if index > 0 { "<br/><br/>" } else { "" };
        let _ = write!(html, "{apart}{}", escape(paragraph));
    }
    html + "</blockquote>"
}
