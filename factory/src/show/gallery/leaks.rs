//! The leak probes once more, on the files as they lie there.
//!
//! The same probes and bounds as in [`crate::verify`], which runs them on the draft; where a
//! task has several targets or classes, each is probed and the strongest correlation counts.

use super::nearness::{self, Nearness};
use super::rows::Rows;
use super::task::{GalleryTarget, GalleryTask};
use super::{GalleryError, graphs};
use crate::data::items::{self, Item};
use crate::data::table::{self, Cells};
use crate::data::table_file::read_table;
use crate::verify::leaks::CLOSEST;
use crate::verify::probe::{HARMLESS, PERMUTATIONS, RUNS};
use crate::verify::suspects::{self, Probe, Suspects, Truths};
use crate::verify::{Carrier, Refusal, copies, files};
use fs_err as fs;
use maud::{Markup, html};
use rayon::prelude::*;
use std::collections::BTreeMap;
use tasks::prediction::Prediction;
use web::chart::short;
use web::page::scroll;

/// The report as a table.
pub(super) fn report(task: &GalleryTask) -> Result<Markup, GalleryError> {
    let items = items(task)?;
    let suspects = suspects(task, &items)?;
    let mut rows: Vec<(String, String, bool)> = Vec::new();
    for Probe { what, finding } in Carrier::ALL.into_iter().flat_map(|c| suspects.probes(c)) {
        let chance = finding.p.map_or(String::new(), |p| format!(" (p = {})", short(p)));
        rows.push((what, format!("{:.3}{chance}", finding.effect), !finding.tells()));
    }
    for (what, found) in findings(task, &items) {
        let text = found.as_ref().err().map_or("none".to_owned(), ToString::to_string);
        rows.push((what.to_owned(), text, found.is_ok()));
    }
    let Nearness { duplicates, distance, typical } = nearness::between(task, &items);
    let what = "test rows that repeat a training row".to_owned();
    rows.push((what, duplicates.to_string(), duplicates == 0));
    if let (Some(distance), Some(typical)) = (distance, typical) {
        let what = "distance from test to train, 1st percentile".to_owned();
        let text = format!("{} against {} within train", short(distance), short(typical));
        rows.push((what, text, distance >= CLOSEST * typical));
    }
    let table = html! {
        table {
            tr { th scope="col" { "probe" } th scope="col" { "effect" } th scope="col" { "verdict" } }
            @for (what, effect, clean) in &rows {
                tr {
                    td { (what) }
                    td { (effect) }
                    td { @if *clean { span.good { "clean" } } @else { span.bad { "leaks" } } }
                }
            }
        }
    };
    Ok(html! {
        (scroll("leak probes", &table))
        p.note {
            "The effect is |ρ| with the target, |2 AUC − 1| where it is one of two, and |z| of runs. "
            "A probe leaks if it is above " (HARMLESS) ", or " (RUNS) " for runs, and none of "
            (PERMUTATIONS) " shuffles reaches it; rows are too close below " (CLOSEST)
            " of the distance within train."
            @if task.blueprint.series().is_some() {
                " Rows are in order of time by design, so their place is not probed."
            }
        }
    })
}

/// Every row's item, the rows of `train.csv` first; none where rows have none.
fn items(task: &GalleryTask) -> Result<Vec<Item>, GalleryError> {
    let kind = task.blueprint.kind();
    let names = kind.item_columns(&task.blueprint);
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let in_files = task.blueprint.file_column().is_some();
    let read = |bytes: &[u8]| kind.read(&task.blueprint, bytes);
    let public = task.dir.public();
    let mut found = Vec::new();
    for (file, table) in [("train.csv", &task.train), ("test.csv", &task.test)] {
        let unreadable =
            |fault: String| GalleryError::Unreadable { path: public.path().join(file), fault };
        let place = |name: &String| {
            table.place(name).ok_or_else(|| unreadable(format!("it has no column `{name}`")))
        };
        let places = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        let one = |(row, cells): (usize, &Vec<String>)| {
            let lines: Vec<&str> = places.iter().map(|place| cells[*place].as_str()).collect();
            let (bytes, path) = if in_files {
                let path = task.item_path(lines[0])?;
                (items::read(&path)?, Some(path))
            } else {
                (lines.join("\n").into_bytes(), None)
            };
            let reading = read(&bytes).map_err(|error| match path {
                Some(path) => GalleryError::Unreadable { path, fault: error.to_string() },
                None => unreadable(format!("row {}: {error}", row + 1)),
            })?;
            Ok(Item::new(bytes, reading))
        };
        found.par_extend(
            table.rows.par_iter().enumerate().map(one).collect::<Result<Vec<_>, GalleryError>>()?,
        );
    }
    Ok(found)
}

/// What probes look at.
fn suspects<'a>(task: &'a GalleryTask, items: &'a [Item]) -> Result<Suspects<'a>, GalleryError> {
    let cells = |column: &str| -> Vec<&'a str> {
        let of = |table: &'a Rows| table.place(column).map(|place| table.column(place));
        of(&task.train).into_iter().flatten().chain(of(&task.test).into_iter().flatten()).collect()
    };
    let ids = cells(task.id_column());
    let place: BTreeMap<&str, usize> = ids.iter().enumerate().map(|(row, id)| (*id, row)).collect();
    let end = |id: &String| place.get(id.as_str()).copied();
    let links = graphs::network(task)?.map_or_else(Vec::new, |list| {
        list.rows.iter().filter_map(|row| Some([end(&row[0])?, end(&row[1])?])).collect()
    });
    let records = match &task.blueprint.structure.records {
        Some(spec) => {
            let id = &task.dir.manifest().id_column;
            let path = task.dir.public().path().join(spec.path());
            let table = read_table(path.as_str(), &fs::read(&path)?, id).map_err(|error| {
                GalleryError::Unreadable { path: path.clone(), fault: error.to_string() }
            })?;
            match table::cells(&table, id) {
                Some(Cells::Text(ids)) => {
                    ids.into_iter().filter_map(|id| place.get(id).copied()).collect()
                }
                _ => Vec::new(),
            }
        }
        None => Vec::new(),
    };
    let graded = matches!(task.dir.manifest().prediction, Prediction::Relevance { .. });
    let truths = |target: &GalleryTarget| Truths {
        values: [&target.train[..], &target.test].concat(),
        classes: if graded { 0 } else { target.classes.len() },
    };
    let names: Vec<String> = task
        .blueprint
        .file_column()
        .map_or_else(Vec::new, |column| cells(column).into_iter().map(str::to_owned).collect());
    Ok(Suspects {
        stream: task.blueprint.origin.stream("leaks"),
        names: suspects::unlabelled(&task.blueprint, names, task.train.rows.len()),
        items: match task.blueprint.challenge() {
            // Cells are read and not weighed: their length is part of what they say.
            Some(_) => Vec::new(),
            None => items.iter().collect(),
        },
        format: task.blueprint.item().map(|layout| layout.format),
        links,
        records,
        truths: task.targets.iter().map(truths).collect(),
        known: task.train.rows.len(),
        timed: task.blueprint.series().is_some(),
        ids,
    })
}

/// What checks say that ask for no effect.
fn findings(task: &GalleryTask, items: &[Item]) -> Vec<(&'static str, Result<(), Refusal>)> {
    let mut found = vec![
        ("times of files", files::times_say_nothing(&task.dir)),
        ("headers and chunks of files", files::headers_say_nothing(&task.dir)),
    ];
    if !items.is_empty() {
        let bytes: Vec<&[u8]> = items.iter().map(|item| &*item.bytes).collect();
        let (train, test) = bytes.split_at(task.train.rows.len().min(bytes.len()));
        let copies = copies::among(&task.blueprint, train, test);
        found.push(("test items that are training items, changed a little", copies));
    }
    found
}
