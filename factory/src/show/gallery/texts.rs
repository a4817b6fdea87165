//! Texts beside their targets; texts of one row side by side, those in files as documents.

use super::GalleryError;
use super::task::{GalleryTask, ItemColumn};
use crate::media::Storage;
use crate::spec::layout::ItemLayout;
use fs_err as fs;
use maud::{Markup, html};
use tasks::prediction::Prediction;

/// Number of rows that are shown.
const COUNT: usize = 5;

/// Some rows' texts, or nothing if the rows have none.
pub(super) fn show(task: &GalleryTask) -> Option<Markup> {
    let truth = task.truth_columns();
    let prose = task.train.prose();
    // Given texts may be short.
    let given =
        task.blueprint.item().filter(|layout| matches!(layout.storage(), Storage::Cells(_)));
    let mut items = given.map(ItemLayout::columns).unwrap_or_default();
    let of_texts = task
        .blueprint
        .challenge()
        .filter(|_| matches!(task.blueprint.prediction, Prediction::Text { .. }));
    items.extend(of_texts.into_iter().flat_map(|layout| layout.columns.clone()));
    let columns: Vec<usize> = (0..task.train.header.len())
        .filter(|column| prose.contains(column) || items.contains(&task.train.header[*column]))
        .filter(|column| !truth.contains(&task.train.header[*column].as_str()))
        .collect();
    if columns.is_empty() {
        return None;
    }
    let cell = |row: usize, column: usize| task.train.rows[row][column].as_str();
    Some(html! {
        @for row in task.examples(COUNT) {
            (article(&task.label(row), &html! {
                @for column in &columns { (quote(&[cell(row, *column)])) }
            }))
        }
    })
}

/// The documents of the example rows; fails if a file is unreadable.
pub(super) fn documents(task: &GalleryTask, items: ItemColumn) -> Result<Markup, GalleryError> {
    let mut articles = Vec::new();
    for row in task.examples(COUNT) {
        let path = task.item_path(&task.train.rows[row][items.column])?;
        let text = fs::read_to_string(path)?;
        let paragraphs: Vec<&str> = text.split("\n\n").collect();
        articles.push(article(&task.label(row), &quote(&paragraphs)));
    }
    Ok(html! { @for article in articles { (article) } })
}

/// Texts below what they are to tell.
fn article(label: &str, quotes: &Markup) -> Markup {
    html! {
        article.text { p.target { (label) } div.side { (quotes) } }
    }
}

/// A text of one paragraph or several.
fn quote(paragraphs: &[&str]) -> Markup {
    html! {
        blockquote { @for paragraph in paragraphs { p { (paragraph) } } }
    }
}
