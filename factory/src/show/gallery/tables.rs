//! The head of a table.

use super::parts::shortened;
use super::task::GalleryTask;
use maud::{Markup, html};
use web::page::scroll;

/// Number of rows that are shown.
const HEAD: usize = 8;
/// Letters shown of a cell.
const WIDTH: usize = 40;

/// The first rows of `train.csv`, the target's columns marked.
pub(super) fn head(task: &GalleryTask) -> Markup {
    let truth = task.truth_columns();
    let table = &task.train;
    let mark = |name: &String| truth.contains(&name.as_str()).then_some("truth");
    let cells = |row: &[String]| {
        html! {
            tr {
                @for (cell, name) in row.iter().zip(&table.header) {
                    td class=[mark(name)] { (shortened(cell, WIDTH)) }
                }
            }
        }
    };
    let rows = html! {
        table.data {
            tr { @for name in &table.header { th scope="col" class=[mark(name)] { (name) } } }
            @for row in table.rows.iter().take(HEAD) { (cells(row)) }
        }
    };
    html! {
        (scroll("the first rows of train.csv", &rows))
        p.note {
            "The first " (HEAD.min(table.rows.len())) " of " (table.rows.len()) " rows of "
            code { "train.csv" } "; " code { "test.csv" } " has " (task.test.rows.len()) "."
        }
    }
}
