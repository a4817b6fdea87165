//! A table of text, for a page and for the terminal.

use maud::{Markup, html};
use std::fmt::Write as _;
use web::page::{prose, scroll};

/// A table with what has to be known to read it. The first column names the rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReportTable {
    /// Heading, as plain text.
    pub title: String,
    /// What the numbers are, in whole sentences.
    pub note: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
    /// As many cells a row as there are columns.
    pub rows: Vec<Vec<String>>,
}

impl ReportTable {
    /// The table in Markdown, its columns aligned so that it can be read in a terminal.
    ///
    /// # Examples
    /// ```rust
    /// use evals::report::ReportTable;
    ///
    /// let table = ReportTable {
    ///     title: "Rewards".to_owned(),
    ///     note: "Means.".to_owned(),
    ///     columns: vec!["policy".to_owned(), "reward".to_owned()],
    ///     rows: vec![vec!["sft".to_owned(), "0.5".to_owned()]],
    /// };
    /// assert_eq!(
    ///     table.markdown(),
    ///     "### Rewards\n\nMeans.\n\n| policy | reward |\n| ------ | -----: |\n| sft    |    0.5 |\n",
    /// );
    /// ```
    pub fn markdown(&self) -> String {
        let escaped = |cells: &[String]| -> Vec<String> {
            cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect()
        };
        let header = escaped(&self.columns);
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| escaped(row)).collect();
        // A rule has at least three dashes.
        let mut widths: Vec<usize> =
            header.iter().map(|cell| cell.chars().count().max(3)).collect();
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.chars().count().max(*width);
            }
        }
        let mut text = format!("### {}\n\n{}\n\n", self.title, self.note);
        let mut line = |cells: &[String]| {
            for (place, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
                let _ = match place {
                    0 => write!(text, "| {cell:width$} "),
                    _ => write!(text, "| {cell:>width$} "),
                };
            }
            text.push_str("|\n");
        };
        line(&header);
        let rule = widths.iter().enumerate().map(|(place, &width)| match place {
            0 => "-".repeat(width),
            _ => format!("{}:", "-".repeat(width - 1)),
        });
        line(&rule.collect::<Vec<_>>());
        for row in &rows {
            line(row);
        }
        text
    }

    /// The table as a part of a page.
    pub fn html(&self) -> Markup {
        let table = html! {
            table {
                tr {
                    @for (place, name) in self.columns.iter().enumerate() {
                        @if place == 0 { th scope="col" { (name) } }
                        @else { th.number scope="col" { (name) } }
                    }
                }
                @for row in &self.rows {
                    tr {
                        @for (place, cell) in row.iter().enumerate() {
                            @if place == 0 { th scope="row" { (cell) } }
                            @else { td.number { (cell) } }
                        }
                    }
                }
            }
        };
        html! {
            section.card {
                h3 { (self.title) }
                p { (prose(&self.note)) }
                (scroll(&self.title, &table))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_escapes_what_would_break_it() {
        let table = ReportTable {
            title: "Rows".to_owned(),
            note: "Cells.".to_owned(),
            columns: vec!["agent".to_owned(), "n".to_owned()],
            rows: vec![
                vec!["a|b\nc".to_owned(), "1".to_owned()],
                vec!["é".to_owned(), "–".to_owned()],
            ],
        };
        let expected = "### Rows\n\nCells.\n\n\
                        | agent  |   n |\n| ------ | --: |\n| a\\|b c |   1 |\n| é      |   – |\n";
        assert_eq!(table.markdown(), expected);
        let html = ReportTable { title: "<b>".to_owned(), ..table }.html().into_string();
        assert!(
            html.contains("<h3>&lt;b&gt;</h3>") && html.contains("<td class=\"number\">–</td>")
        );
    }
}
