//! The files of rows' records, and what the page says of them.

use super::ExtraFiles;
use crate::data::assets::Assets;
use crate::data::records::Records;
use crate::spec::blueprint::Blueprint;
use crate::spec::structure::{RecordFormat, RecordSpec, Relation, date};
use std::collections::BTreeMap;

/// The records of a task with how they are related to its rows.
fn related<'a>(
    blueprint: &'a Blueprint,
    assets: &'a Assets,
) -> Option<(&'a RecordSpec, &'a Records)> {
    blueprint.structure.records.as_ref().zip(assets.records.as_ref())
}

/// The files, by their path within the public half.
pub(super) fn files(blueprint: &Blueprint, assets: &Assets) -> BTreeMap<String, Vec<u8>> {
    let Some((spec, records)) = related(blueprint, assets) else { return BTreeMap::new() };
    let column = blueprint.numbers.iter().find(|column| column.name == spec.of);
    let decimals = column.map_or(0, |column| column.decimals);
    records.files(spec, &blueprint.id_column, &assets.names(), decimals)
}

/// The same, as the page lists them: their columns, and nothing of what is to be made of them.
pub(super) fn extra_files(blueprint: &Blueprint, assets: &Assets) -> Vec<ExtraFiles> {
    let Some((spec, records)) = related(blueprint, assets) else { return Vec::new() };
    let id = &blueprint.id_column;
    let days = || records.all.iter().map(|record| record.day);
    let (first, last) =
        (days().min().map_or_else(String::new, date), days().max().map_or_else(String::new, date));
    let sources = spec.source.words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>();
    let count = records.all.len();
    let day = format!("`{}`, a date from {first} to {last}", spec.day);
    let source = format!("`{}`, one of {}", spec.source.name, sources.join(", "));
    let shared = match spec.format {
        RecordFormat::Csv => format!(
            "{count} lines with several for each row of both tables: `{id}` of the row; {day}; \
             {source}"
        ),
        RecordFormat::Parquet => format!(
            "Parquet, one row for each record: {count} records in all, several for each row of both \
             tables, each with `{id}` of the row; {day}; {source}"
        ),
        RecordFormat::JsonLines => format!(
            "a line of JSON for each row of both tables, with `{id}` of the row and `{}`, a list of \
             its records; {count} records in all, each with {day}; {source}",
            spec.file
        ),
    };
    let values = || records.all.iter().map(|record| record.value);
    let (low, high) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let of = format!("`{}`, a number from {low} to {high}", spec.of);
    let other = |path: String, note: String| ExtraFiles::Other { path, note };
    match (&spec.relation, spec.catalogue_path()) {
        (Relation::Catalogue { item, .. }, Some(catalogue)) => {
            let items = records.catalogue.len();
            vec![
                other(spec.path(), format!("{shared}; `{item}`, one of {items} codes")),
                other(catalogue, format!("a line for each `{item}`, with {of}")),
            ]
        }
        _ => vec![other(spec.path(), format!("{shared}; {of}"))],
    }
}
