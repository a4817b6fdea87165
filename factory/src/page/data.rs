//! What a page says of the data in sentences: rows, flaws, columns. Everything that a solver must
//! know of the data is said whatever the length of the page.

use super::columns::{ColumnContent, ColumnFacts, announced, unit};
use super::english::listed;
use super::phrases::Phrases;
use super::style::{ColumnForm, PageLength};
use crate::data::assets::Assets;
use crate::data::items;
use crate::data::table::{self, Cells};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::challenge::{ChallengeLayout, ChallengeRule};
use crate::spec::layout::Layout;
use crate::spec::mutation::Mutation;
use crate::spec::scenario::{Scenario, Story};
use tasks::file_label;
use tasks::metrics::images::ImageFormat;
use tasks::prediction::Prediction;
use tasks::task::Formulation;

/// What rows are and how many there are, and where their answers stand if that is no column.
pub(super) fn opening(blueprint: &Blueprint, assets: &Assets, phrases: &mut Phrases) -> String {
    if blueprint.labels_in_names() {
        named(blueprint, assets, phrases);
        return ["named_opening", "labels_in_names"]
            .map(|symbol| phrases.sentences(symbol))
            .join(" ");
    }
    match &blueprint.layout {
        Layout::Series(_) => ["series_form", "series_test", "series_season"]
            .map(|symbol| phrases.sentences(symbol))
            .join(" "),
        Layout::Vision(layout) => {
            let ImageFormat { width, height, levels } = layout.rule.scene().frame();
            phrases.set("size", format!("{width} x {height} pixels"));
            phrases.set("levels", levels.to_string());
            phrases.set("top", levels.saturating_sub(1).to_string());
            let form = match &blueprint.prediction {
                Prediction::Mask { .. } => "mask_files",
                Prediction::Boxes { .. } => "box_form",
                _ => "clean_levels",
            };
            ["rows_opening", "picture_size", form].map(|symbol| phrases.sentences(symbol)).join(" ")
        }
        Layout::Challenge(ChallengeLayout { rule: ChallengeRule::Positions(rule), .. }) => {
            // A position is read off the symbols, so what parts them is said.
            let between = if rule.is_spaced() { "between_symbols" } else { "no_blanks" };
            ["sequences_opening", "sequences_ids", between]
                .map(|symbol| phrases.sentences(symbol))
                .join(" ")
        }
        Layout::Challenge(_) => {
            let form = match &blueprint.prediction {
                Prediction::Ids { .. } if blueprint.formulation == Formulation::Recommendation => {
                    "choices_form"
                }
                Prediction::Ids { .. } => "ids_form",
                _ => "text_form",
            };
            ["rows_opening", form].map(|symbol| phrases.sentences(symbol)).join(" ")
        }
        Layout::Rows(_) | Layout::Generated(_) | Layout::Ranking(_) | Layout::Nodes(_) => {
            phrases.sentences("rows_opening")
        }
    }
}

/// Sets what the page says of labels in names: the column that names files, and a training file with
/// its label as an example.
fn named(blueprint: &Blueprint, assets: &Assets, phrases: &mut Phrases) {
    let Some(layout) = blueprint.item() else { return };
    let names = items::training_names(blueprint, &assets.train_ids, &assets.train_truth);
    let paths = items::columns(layout, &names, &assets.train_items);
    let Some(Cells::Text(paths)) = paths.first().map(Cells::from_column) else { return };
    let example = paths.first().copied().unwrap_or_default();
    phrases.set("column", format!("`{}`", layout.column));
    phrases.set("named_file", format!("`{example}`"));
    phrases.set("file_label", format!("`{}`", file_label::label_of(example).unwrap_or_default()));
}

/// What solvers should know of links and, where the page announces them, of flaws in the data, one
/// sentence each.
pub(super) fn notes(
    blueprint: &Blueprint,
    scenario: &Scenario,
    assets: &Assets,
    phrases: &mut Phrases,
) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Layout::Nodes(_), Story::Table(story)) = (&blueprint.layout, &scenario.story) {
        phrases.set("shows", story.network.as_ref().map_or("", |network| network.shows.as_str()));
        notes.push(phrases.sentences("links"));
    }
    if announced(blueprint) {
        for mutation in &blueprint.mutations {
            notes.extend(note(mutation, blueprint, assets, phrases));
        }
    }
    notes
}

fn note(
    mutation: &Mutation,
    blueprint: &Blueprint,
    assets: &Assets,
    phrases: &mut Phrases,
) -> Option<String> {
    let code = |name: &str| format!("`{name}`");
    let symbol = match mutation {
        Mutation::Sentinel { column, .. } => {
            phrases.set("column", code(column));
            "note_sentinel"
        }
        Mutation::Units { column, companion, factor, .. } => {
            phrases.set("column", code(column));
            phrases.set("companion", code(companion));
            phrases.set("factor", factor.to_string());
            "note_units"
        }
        Mutation::Missing { column, .. } => {
            phrases.set("column", code(column));
            phrases.set("share", gaps(assets, column).to_string());
            "note_missing"
        }
        Mutation::Echo { column, name, .. } | Mutation::Rescaled { column, name, .. } => {
            phrases.set("column", code(column));
            phrases.set("echo", code(name));
            "note_echo"
        }
        Mutation::Blemish { name, .. } => {
            let known = blueprint.kind().blemishes(blueprint);
            let means = known.iter().find(|blemish| blemish.name == name)?.means;
            phrases.set("blemish", means);
            "note_blemish"
        }
        Mutation::LabelNoise { .. }
        | Mutation::Imbalance { .. }
        | Mutation::Channels { .. }
        | Mutation::NearDuplicates { .. } => return None,
    };
    Some(phrases.sentences(symbol))
}

/// Share of the training cells of a column that are empty, in whole per cent, at least 1.
fn gaps(assets: &Assets, column: &str) -> usize {
    let empty = match table::cells(&assets.train, column) {
        Some(Cells::Numbers(values)) => values.iter().filter(|value| value.is_nan()).count(),
        Some(Cells::Text(words)) => words.iter().filter(|word| word.is_empty()).count(),
        None => 0,
    };
    (100 * empty / assets.train.height().max(1)).max(1)
}

/// Sentences about some of the features, one each, in the order of the table, which has them all.
pub(super) fn columns(
    columns: &[ColumnFacts],
    assets: &Assets,
    length: PageLength,
    phrases: &mut Phrases,
    draws: &mut Draws,
) -> Vec<String> {
    let features: Vec<&ColumnFacts> = columns.iter().filter(|column| column.is_feature()).collect();
    let mut places: Vec<usize> = (0..features.len()).collect();
    draws.shuffle(&mut places);
    places.truncate(match length {
        PageLength::Short => 0,
        PageLength::Medium => draws.whole(2, 3),
        PageLength::Long => draws.whole(3, 5),
    });
    places.sort_unstable();
    places.into_iter().filter_map(|at| sentence(features[at], assets, phrases)).collect()
}

/// A sentence about a feature; `None` where the page says it elsewhere or there is nothing to say.
fn sentence(column: &ColumnFacts, assets: &Assets, phrases: &mut Phrases) -> Option<String> {
    phrases.set("column", format!("`{}`", column.name));
    let cells = table::cells(&assets.train, &column.name);
    let symbol = match &column.content {
        ColumnContent::Number(bounds) | ColumnContent::Step(bounds) => {
            let (low, high) = (*bounds)?;
            phrases.set("low", low.to_string());
            phrases.set("high", high.to_string());
            let values = match cells {
                Some(Cells::Numbers(values)) => values,
                _ => Vec::new(),
            };
            phrases.set("form", precision(&values));
            match unit(&column.name) {
                Some(words) => {
                    phrases.set("unit", words);
                    "col_unit"
                }
                None => "col_number",
            }
        }
        ColumnContent::Category(words) | ColumnContent::Series(words) if !words.is_empty() => {
            phrases.set("words", listed(words));
            phrases.set("count", words.len().to_string());
            let Some(Cells::Text(cells)) = cells else { return None };
            let often = |word: &&String| cells.iter().filter(|cell| *cell == word).count();
            // The first of equals, whatever their number.
            let most = words.iter().rev().max_by_key(often)?;
            phrases.set("common", most.as_str());
            phrases.set("share", (100 * often(&most) / cells.len().max(1)).to_string());
            "col_words"
        }
        ColumnContent::Item { shows, .. } | ColumnContent::Shown { shows, .. }
            if !shows.is_empty() =>
        {
            phrases.set("shows", shows.as_str());
            "col_item"
        }
        ColumnContent::Query(rows) => {
            phrases.set("count", rows.to_string());
            "col_query"
        }
        _ => return None,
    };
    Some(phrases.sentences(symbol))
}

/// How many decimal places numbers have, in words.
fn precision(values: &[f64]) -> &'static str {
    let places = |value: &f64| value.to_string().split_once('.').map_or(0, |(_, rest)| rest.len());
    match values.iter().filter(|value| !value.is_nan()).map(places).max() {
        None | Some(0) => "whole numbers",
        Some(1) => "one decimal place",
        Some(2) => "two decimal places",
        Some(_) => "several decimal places",
    }
}

/// The sentences about columns in a form.
pub(super) fn laid_out(sentences: &[String], form: ColumnForm, phrases: &mut Phrases) -> String {
    if sentences.is_empty() {
        return String::new();
    }
    match form {
        ColumnForm::Table => String::new(),
        ColumnForm::Prose => format!("{}\n\n", sentences.join(" ")),
        ColumnForm::Bullets => {
            let lead = phrases.sentences("columns_lead");
            let lead = lead.trim_end_matches([':', '.', ',']);
            let lines: Vec<String> = sentences.iter().map(|line| format!("- {line}")).collect();
            format!("{lead}:\n\n{}\n\n", lines.join("\n"))
        }
    }
}
