//! The page as a whole: fixed sections by our code, prose in named places.

use super::background;
use super::columns::{self, ColumnFacts, STREAM};
use super::data;
use super::fixed;
use super::overview::{self, HeadedText};
use super::phrases::Phrases;
use super::prose::Prose;
use super::style::{PageSection, PageStyle};
use crate::data::assets::Assets;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::scenario::Scenario;
use std::fmt::Write as _;
use tasks::stream::Stream;

/// Prose for the named places of a page.
struct PageProse<'a> {
    title: &'a str,
    overview: HeadedText,
    background: Option<HeadedText>,
    /// What stands below the table of columns; empty, or with an empty line at its end.
    columns: String,
}

/// A page in the making: the task, and how its page is written.
struct PageDraft<'a> {
    blueprint: &'a Blueprint,
    scenario: &'a Scenario,
    assets: &'a Assets,
    columns: Vec<ColumnFacts>,
    style: PageStyle,
    phrases: Phrases,
    stream: Stream,
}

/// The built-in description page of a task, in Markdown. The same arguments give the same text.
pub fn builtin(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets) -> String {
    let mut draft = PageDraft::new(blueprint, scenario, assets);
    let PageDraft { style, phrases, stream, columns, .. } = &mut draft;
    let (overview, background) = overview::overview(blueprint, scenario, style, phrases, *stream);
    let mut draws = Draws::new(stream.child("columns"));
    let sentences = data::columns(columns, assets, style.length, phrases, &mut draws);
    let columns = data::laid_out(&sentences, style.columns, phrases);
    draft.page(&PageProse { title: &blueprint.title, overview, background, columns })
}

/// The description page of a task with the prose of a chat model, in Markdown. The fixed sections
/// are those of the built-in page. The same arguments give the same text.
///
/// The prose must have passed [`check`](super::check).
pub fn with_prose(
    blueprint: &Blueprint,
    scenario: &Scenario,
    assets: &Assets,
    prose: &Prose,
) -> String {
    let mut draft = PageDraft::new(blueprint, scenario, assets);
    background::leave_out(&mut draft.phrases);
    let mut columns = String::new();
    for column in &prose.columns {
        let _ = writeln!(columns, "- `{}`: {}", column.name, column.text.trim());
    }
    if !columns.is_empty() {
        columns.push('\n');
    }
    let _ = write!(columns, "{}\n\n", prose.target.trim());
    draft.page(&PageProse {
        title: prose.title.trim(),
        overview: ("Overview".to_owned(), prose.overview.trim().to_owned()),
        background: None,
        columns,
    })
}

/// The sections of a page that our code writes, without the prose of others: the facts.
pub(super) fn fixed_text(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets) -> String {
    let none = || (String::new(), String::new());
    let mut draft = PageDraft::new(blueprint, scenario, assets);
    background::leave_out(&mut draft.phrases);
    draft.page(&PageProse {
        title: &blueprint.title,
        overview: none(),
        background: None,
        columns: String::new(),
    })
}

impl<'a> PageDraft<'a> {
    fn new(blueprint: &'a Blueprint, scenario: &'a Scenario, assets: &'a Assets) -> Self {
        let stream = blueprint.origin.stream(STREAM);
        let style = PageStyle::draw(stream);
        let phrases = background::phrases(style.register, blueprint, scenario, stream);
        let columns = columns::columns(blueprint, scenario, assets);
        Self { blueprint, scenario, assets, columns, style, phrases, stream }
    }

    fn page(mut self, prose: &PageProse<'_>) -> String {
        let mut page = format!("# {}\n\n", prose.title);
        let headed = |(heading, text): &HeadedText| format!("## {heading}\n{text}\n\n");
        for section in self.style.order {
            page.push_str(&match section {
                PageSection::Overview => {
                    let background = prose.background.as_ref().map(headed).unwrap_or_default();
                    headed(&prose.overview) + &background
                }
                PageSection::Glance => fixed::glance(self.blueprint, self.assets),
                PageSection::Data => self.data(&prose.columns),
                PageSection::Evaluation => fixed::evaluation(self.blueprint, &mut self.phrases),
                PageSection::Submission => {
                    fixed::submission(self.blueprint, self.assets, &mut self.phrases)
                }
                PageSection::Files => {
                    fixed::files(self.blueprint, self.assets, &mut self.phrases) + "\n"
                }
            });
        }
        page.truncate(page.trim_end().len());
        page.push('\n');
        page
    }

    fn data(&mut self, columns: &str) -> String {
        let opening = data::opening(self.blueprint, self.assets, &mut self.phrases);
        let table = fixed::table(&self.columns, &mut self.phrases);
        let notes = data::notes(self.blueprint, self.scenario, self.assets, &mut self.phrases);
        let mut text = format!("## Data\n{opening}\n\n{table}");
        for note in &notes {
            let _ = writeln!(text, "- {note}");
        }
        if !notes.is_empty() {
            text.push('\n');
        }
        text + columns
    }
}
