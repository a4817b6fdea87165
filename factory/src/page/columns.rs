//! What a page may say of a task's columns: names, kinds, ranges, words, units.

use super::phrases::Phrases;
use crate::data::assets::Assets;
use crate::data::table::Cells;
use crate::media::{Storage, form};
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::classes::ClassQuestion;
use crate::spec::layout::Layout;
use crate::spec::mutation::{Mutation, SENTINEL};
use crate::spec::positions::{PositionAnswer, PositionTarget, Positions};
use crate::spec::scenario::{ChallengeColumn, PositionStory, Scenario, Story};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tasks::prediction::Prediction;
use tasks::task::Formulation;

/// The name of the stream that pages are drawn from.
pub(super) const STREAM: &str = "page";
/// Share of tasks whose pages say what is wrong with the data.
const ANNOUNCED: f64 = 1.0 / 3.0;

/// Whether the page says what is wrong with the data: gaps, sentinels, mixed units, rough copies of
/// columns, flaws of items. Otherwise solvers have to look for themselves. Wrong labels are never
/// announced.
pub(super) fn announced(blueprint: &Blueprint) -> bool {
    let stream = blueprint.origin.stream(STREAM).child("announcement");
    Draws::new(stream).weighted(&[ANNOUNCED, 1.0 - ANNOUNCED]) == 0
}

/// What a column holds, as far as the page tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ColumnContent {
    /// The row's id.
    Id,
    /// The query that a row answers; so many rows each.
    Query(usize),
    /// An item or the name of its file or folder, and what it shows.
    Item {
        /// `file name`, `folder name` or `text`.
        kind: &'static str,
        /// What the item is.
        shows: String,
        /// How the item is written, where it stands in a cell.
        form: Option<String>,
    },
    /// What a column of a challenge holds: its kind, its values, and what they are.
    Shown {
        /// `number`, `category` or `list`.
        kind: &'static str,
        /// A range, words, or how long lists are.
        values: String,
        /// What the values are.
        shows: String,
    },
    /// Numbers between two bounds, both in the training rows; `None` where all are missing.
    Number(Option<(f64, f64)>),
    /// Degrees of latitude or longitude, which of them, between two bounds.
    Coordinate(&'static str, Option<(f64, f64)>),
    /// Words, sorted.
    Category(Vec<String>),
    /// The opaque name of a row's group; groups of test rows are new.
    Group,
    /// Dates between two, test rows being later.
    Date(String, String),
    /// Lists of readings, at least and at most so many.
    Readings(usize, usize),
    /// The unit of another column: `std`, or `alt`, which is so many times smaller.
    UnitOf(String, f64),
    /// The name of the series.
    Series(Vec<String>),
    /// The position in time, between two bounds.
    Step(Option<(f64, f64)>),
    /// The position in a cycle of so many steps.
    Cycle(usize),
    /// The truth, and what the page adds to its name.
    Target(String),
    /// The truth where it stands in the names of files, and what the page adds.
    Named(String),
    /// The truth of the positions of sequences: what it is.
    Along(String),
}

/// How the table of columns words what it says of most of them. One wording for a whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TableWords {
    /// A range, with [`LOW`] and [`HIGH`] for its bounds.
    range: String,
    /// The kind of a column of numbers.
    number: String,
    /// What an id means.
    opaque: String,
    /// Where the target is.
    training_only: String,
    /// Where it is if names of files have it.
    in_names: String,
}

/// The lower bound in the pattern of a range.
const LOW: &str = "<low>";
/// The upper bound in the pattern of a range.
const HIGH: &str = "<high>";

impl TableWords {
    /// The plainest words, for lists that no solver reads.
    pub(super) fn plain() -> Self {
        Self {
            range: format!("{LOW} to {HIGH}"),
            number: "number".to_owned(),
            opaque: "opaque".to_owned(),
            training_only: "training file only".to_owned(),
            in_names: "no column; in the names of training files, before the first dot".to_owned(),
        }
    }

    /// Words of a page.
    pub(super) fn draw(phrases: &mut Phrases) -> Self {
        phrases.set("low", LOW);
        phrases.set("high", HIGH);
        Self {
            range: phrases.text("table_range"),
            number: phrases.text("table_number"),
            opaque: phrases.text("table_opaque"),
            training_only: phrases.text("table_training_only"),
            in_names: phrases.text("table_in_names"),
        }
    }

    fn range(&self, low: f64, high: f64) -> String {
        self.range.replace(LOW, &low.to_string()).replace(HIGH, &high.to_string())
    }
}

/// A column of the training file, or the truth beside it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColumnFacts {
    pub(super) name: String,
    pub(super) content: ColumnContent,
}

impl ColumnFacts {
    fn new(name: &str, content: ColumnContent) -> Self {
        Self { name: name.to_owned(), content }
    }

    /// Whether it belongs to the features, of which a page tells one by one.
    pub(super) fn is_feature(&self) -> bool {
        let content = &self.content;
        !matches!(
            content,
            ColumnContent::Id
                | ColumnContent::Target(_)
                | ColumnContent::Named(_)
                | ColumnContent::Along(_)
        )
    }

    /// Its kind and its values as the table of columns has them.
    pub(super) fn cells(&self, words: &TableWords) -> (String, String) {
        let range = |bounds: &Option<(f64, f64)>| {
            bounds.map_or("empty".to_owned(), |(low, high)| words.range(low, high))
        };
        let (kind, values) = match &self.content {
            ColumnContent::Id => ("id", words.opaque.clone()),
            ColumnContent::Query(rows) => ("query", format!("{rows} rows each")),
            ColumnContent::Item { kind, shows, form } => {
                let form = form.as_ref().map(|form| format!("; {form}")).unwrap_or_default();
                (*kind, format!("{shows}{form}"))
            }
            ColumnContent::Shown { kind, values, shows } => (*kind, format!("{values}: {shows}")),
            ColumnContent::Number(bounds) => (words.number.as_str(), range(bounds)),
            ColumnContent::Coordinate(name, bounds) => {
                return (format!("{name} in degrees"), range(bounds));
            }
            ColumnContent::Category(words) => ("category", words.join(" / ")),
            ColumnContent::Group => {
                ("group", format!("{}; the groups of test rows are new", words.opaque))
            }
            ColumnContent::Date(first, last) => {
                ("date", format!("{first} to {last}; test rows are later"))
            }
            ColumnContent::Readings(least, most) => {
                ("list of readings", format!("{least} to {most} numbers, separated by spaces"))
            }
            ColumnContent::UnitOf(column, factor) => {
                return (format!("unit of `{column}`"), format!("std / alt; 1 std = {factor} alt"));
            }
            ColumnContent::Series(names) => ("series", names.join(" / ")),
            ColumnContent::Step(bounds) => ("step", range(bounds)),
            ColumnContent::Cycle(steps) => ("position in a cycle", format!("of {steps} steps")),
            ColumnContent::Target(note) => ("target", format!("{}{note}", words.training_only)),
            ColumnContent::Named(note) => ("target", format!("{}{note}", words.in_names)),
            ColumnContent::Along(note) => ("target", format!("one per position: {note}")),
        };
        (kind.to_owned(), values)
    }
}

/// All columns of the training file in the order of the page's table.
pub(super) fn columns(
    blueprint: &Blueprint,
    scenario: &Scenario,
    assets: &Assets,
) -> Vec<ColumnFacts> {
    let id = blueprint.along().map_or(&blueprint.id_column, |rule| &rule.sequence);
    let mut columns = vec![ColumnFacts::new(id, ColumnContent::Id)];
    if let Some(queries) = blueprint.queries() {
        columns.push(ColumnFacts::new(&queries.column, ColumnContent::Query(queries.rows)));
    }
    columns.extend(items(blueprint, scenario, assets));
    for column in assets.train.columns() {
        let content = feature(blueprint, column.name(), Cells::from_column(column));
        columns.push(ColumnFacts::new(column.name(), content));
    }
    columns.extend(targets(blueprint, scenario));
    columns
}

fn items(blueprint: &Blueprint, scenario: &Scenario, assets: &Assets) -> Vec<ColumnFacts> {
    if let (Layout::Vision(layout), Story::Scene(story)) = (&blueprint.layout, &scenario.story) {
        let shows = story.shows.clone();
        let content = ColumnContent::Item { kind: "file name", shows, form: None };
        return vec![ColumnFacts::new(&layout.column, content)];
    }
    if let (Some(layout), Story::Challenge(story)) = (blueprint.challenge(), &scenario.story) {
        let column = |(place, (name, told)): (usize, (&String, &ChallengeColumn))| {
            let shows = told.shows.clone();
            let values = || {
                let rows = assets.train_items.iter();
                rows.filter_map(move |item| str::from_utf8(&item.bytes).ok()?.lines().nth(place))
            };
            let content = if told.range.is_some() {
                let numbers: Vec<f64> = values().filter_map(|cell| cell.parse().ok()).collect();
                let (low, high) = bounds(&numbers, false).unwrap_or_default();
                let values = format!("{low} to {high}");
                ColumnContent::Shown { kind: "number", values, shows }
            } else if let (0, Some(rule)) = (place, blueprint.along()) {
                let lengths = || values().filter_map(|cell| Some(rule.parse(cell)?.len()));
                let (least, most) = (lengths().min(), lengths().max());
                let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
                let symbols = rule.symbols.join(" / ");
                let values = format!("{least} to {most} symbols out of {symbols}");
                ColumnContent::Shown { kind: "sequence", values, shows }
            } else if blueprint.formulation == Formulation::Recommendation && told.words.is_empty()
            {
                let lengths = || values().map(|cell| cell.split(' ').count());
                let (least, most) = (lengths().min(), lengths().max());
                let (least, most) = (least.unwrap_or(0), most.unwrap_or(0));
                let values = format!("{least} to {most} identifiers in order of time");
                ColumnContent::Shown { kind: "list", values, shows }
            } else if told.words.is_empty() {
                ColumnContent::Item { kind: "text", shows, form: None }
            } else {
                let words: BTreeSet<&str> = values().collect();
                let values = words.into_iter().collect::<Vec<_>>().join(" / ");
                ColumnContent::Shown { kind: "category", values, shows }
            };
            ColumnFacts::new(name, content)
        };
        return layout.columns.iter().zip(&story.columns).enumerate().map(column).collect();
    }
    let (Some(layout), Story::Table(story)) = (blueprint.item(), &scenario.story) else {
        return Vec::new();
    };
    let shows = story.item.as_ref().map_or("", |item| item.shows.as_str());
    let kind = match layout.storage() {
        Storage::Files { .. } => "file name",
        Storage::Folders { .. } => "folder name",
        Storage::Cells(_) => "text",
    };
    let column = |(line, name): (usize, &String)| {
        // The lines of an item are the cells of its columns.
        let lines = assets.items().filter_map(|item| {
            std::str::from_utf8(&item.bytes).ok().and_then(|text| text.lines().nth(line))
        });
        let in_cells = matches!(layout.storage(), Storage::Cells(_));
        let form = in_cells.then(|| form::of_texts(lines));
        ColumnFacts::new(name, ColumnContent::Item { kind, shows: shows.to_owned(), form })
    };
    layout.columns().iter().enumerate().map(column).collect()
}

fn feature(blueprint: &Blueprint, name: &str, cells: Cells<'_>) -> ColumnContent {
    let announced = announced(blueprint);
    let unit = blueprint.mutations.iter().find_map(|mutation| match mutation {
        Mutation::Units { column, companion, factor, .. } if announced && companion == name => {
            Some(ColumnContent::UnitOf(column.clone(), *factor))
        }
        _ => None,
    });
    if let Some(unit) = unit {
        return unit;
    }
    let structure = &blueprint.structure;
    let content = match cells {
        Cells::Text(_) if structure.groups.as_ref().is_some_and(|spec| spec.column == name) => {
            ColumnContent::Group
        }
        Cells::Text(days) if structure.dates.as_ref().is_some_and(|spec| spec.column == name) => {
            let day = |day: Option<&&str>| day.map_or_else(String::new, |day| (*day).to_owned());
            ColumnContent::Date(day(days.iter().min()), day(days.iter().max()))
        }
        Cells::Text(lists) if structure.readings.as_ref().is_some_and(|r| r.column == name) => {
            let lengths = lists.iter().map(|list| list.split_whitespace().count());
            let (least, most) = (lengths.clone().min(), lengths.max());
            ColumnContent::Readings(least.unwrap_or(0), most.unwrap_or(0))
        }
        Cells::Numbers(values) => {
            let bounds = bounds(&values, announced);
            match structure.places.as_ref().and_then(|spec| spec.coordinate(name)) {
                Some(coordinate) => ColumnContent::Coordinate(coordinate, bounds),
                None => ColumnContent::Number(bounds),
            }
        }
        Cells::Text(mut words) => {
            words.retain(|word| !word.is_empty());
            words.sort_unstable();
            words.dedup();
            ColumnContent::Category(words.into_iter().map(str::to_owned).collect())
        }
    };
    match (blueprint.series(), content) {
        (Some(series), ColumnContent::Category(words)) if series.series.name == name => {
            ColumnContent::Series(words)
        }
        (Some(series), ColumnContent::Number(bounds)) if series.step == name => {
            ColumnContent::Step(bounds)
        }
        (Some(series), ColumnContent::Number(_)) if series.season == name => {
            ColumnContent::Cycle(series.period)
        }
        (_, content) => content,
    }
}

/// The range of the written numbers without gaps, and without sentinels where the page explains
/// them.
fn bounds(values: &[f64], announced: bool) -> Option<(f64, f64)> {
    let counts = |value: &f64| !value.is_nan() && (!announced || *value != SENTINEL);
    let known = || values.iter().copied().filter(counts);
    let low = known().fold(f64::INFINITY, f64::min);
    let high = known().fold(f64::NEG_INFINITY, f64::max);
    low.is_finite().then_some((low, high))
}

fn targets(blueprint: &Blueprint, scenario: &Scenario) -> Vec<ColumnFacts> {
    let target = |name: &str, note: String| ColumnFacts::new(name, ColumnContent::Target(note));
    if let (Layout::Vision(layout), Story::Scene(story)) = (&blueprint.layout, &scenario.story) {
        let mut note = format!(": {}", story.means);
        if let Prediction::Pixels { levels, .. } = &blueprint.prediction {
            let _ = write!(note, "; {levels} intensities");
        }
        return vec![target(&layout.target, note)];
    }
    if let (Some(layout), Story::Challenge(story)) = (blueprint.challenge(), &scenario.story) {
        if let (Some(rule), Some(told)) = (blueprint.along(), &story.positions) {
            return rule.targets.iter().map(|one| along(rule, one, &story.means, told)).collect();
        }
        return vec![target(&layout.target, format!(": {}", story.means))];
    }
    if let Prediction::Flags { column, .. } = &blueprint.prediction {
        return vec![target(column, ": the labels that hold".to_owned())];
    }
    let columns = blueprint.targets.iter().map(|one| {
        let note = if one.is_nominal() {
            let means = ClassQuestion::meaning(&one.column).unwrap_or("the class");
            format!(": {means}, one of {} without an order", one.classes.len())
        } else if one.classes.len() > 2 {
            format!("; from low to high: {}", super::english::quoted(&one.classes))
        } else {
            String::new()
        };
        if blueprint.labels_in_names() {
            return ColumnFacts::new(&one.column, ColumnContent::Named(note));
        }
        target(&one.column, note)
    });
    columns.collect()
}

/// An answer to the positions of sequences, which stands in a file of its own.
fn along(
    rule: &Positions,
    target: &PositionTarget,
    main: &str,
    told: &PositionStory,
) -> ColumnFacts {
    let means = rule.meaning(&target.column, main, told);
    let order = match &target.answer {
        PositionAnswer::Class { classes, .. } => {
            format!("; from low to high: {}", super::english::quoted(classes))
        }
        PositionAnswer::Number { .. } => String::new(),
    };
    ColumnFacts::new(&target.column, ColumnContent::Along(format!("{means}{order}")))
}

/// Units at the end of a column's name that mean one thing in every story.
const UNITS: [(&str, &str); 39] = [
    ("_pct", "per cent"),
    ("_km", "kilometres"),
    ("_cm", "centimetres"),
    ("_mm", "millimetres"),
    ("_um", "micrometres"),
    ("_kg", "kilograms"),
    ("_mg", "milligrams"),
    ("_hours", "hours"),
    ("_minutes", "minutes"),
    ("_seconds", "seconds"),
    ("_days", "days"),
    ("_weeks", "weeks"),
    ("_months", "months"),
    ("_years", "years"),
    ("_nights", "nights"),
    ("_hz", "hertz"),
    ("_rpm", "turns per minute"),
    ("_m2", "square metres"),
    ("_cm2", "square centimetres"),
    ("_m3", "cubic metres"),
    ("_eur", "euros"),
    ("_cents", "cents"),
    ("_kw", "kilowatts"),
    ("_kwh", "kilowatt hours"),
    ("_db", "decibels"),
    ("_bar", "bar"),
    ("_kn", "kilonewtons"),
    ("_ppm", "parts per million"),
    ("_kmh", "kilometres per hour"),
    ("_mm_s", "millimetres per second"),
    ("_cm_s", "centimetres per second"),
    ("_mb_s", "megabytes per second"),
    ("_l_min", "litres per minute"),
    ("_m_min", "metres per minute"),
    ("_gb", "gigabytes"),
    ("_tb", "terabytes"),
    ("_ohm", "ohms"),
    ("_lux", "lux"),
    ("_mhz", "megahertz"),
];

/// The unit that a column's name ends with, in words; `None` if it names none.
pub(super) fn unit(name: &str) -> Option<&'static str> {
    // The longest ending is the whole unit.
    let named = UNITS.iter().filter(|(end, _)| name.ends_with(end));
    named.max_by_key(|(end, _)| end.len()).map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_longest_ending() {
        assert_eq!(unit("belt_mm_s"), Some("millimetres per second"));
        assert_eq!(unit("gap_mm"), Some("millimetres"));
        assert_eq!((unit("wind_ms"), unit("humidity"), unit("hours")), (None, None, None));
    }

    #[test]
    fn bounds_leave_out_gaps_and_sentinels_that_are_announced() {
        let values = [2.0, f64::NAN, SENTINEL, -1.5];
        assert_eq!(bounds(&values, true), Some((-1.5, 2.0)));
        assert_eq!(bounds(&values, false), Some((SENTINEL, 2.0)));
        assert_eq!(bounds(&[f64::NAN, SENTINEL], true), None);
    }
}
