//! The leak probes once more, on the files as they lie there.
//!
//! The same probes and bounds as in [`crate::verify`], which runs them on the draft; where a
//! task has several targets or classes, each is probed and the strongest correlation counts.

use super::GalleryError;
use super::html::{escaped, short};
use super::nearness::{self, Nearness};
use super::task::{Target, Task};
use crate::media::{MediumError, Reading, Storage};
use crate::scenes;
use crate::verify::leaks::{CLOSEST, beyond, legible};
use crate::verify::probe::{self, Finding, HARMLESS, PERMUTATIONS, RUNS};
use crate::verify::{Refusal, copies, files};
use fs_err as fs;
use rayon::prelude::*;
use sandbox::task::Prediction;
use std::fmt::Write as _;

/// What stands beside a row: its bytes and what solvers make of them.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) bytes: Vec<u8>,
    pub(super) reading: Reading,
}

/// The report as a table.
pub(super) fn report(task: &Task) -> Result<String, GalleryError> {
    let items = items(task)?;
    let mut html = String::from(
        "<div class=\"scroll\"><table class=\"leaks\">\n\
         <tr><th>probe</th><th>effect</th><th>verdict</th></tr>\n",
    );
    for (what, finding) in probes(task, &items) {
        let chance = finding.p.map_or(String::new(), |p| format!(" (p = {})", short(p)));
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{:.3}{chance}</td><td>{}</td></tr>",
            escaped(&what),
            finding.effect,
            verdict(!finding.tells())
        );
    }
    for (what, found) in findings(task, &items) {
        let text = found.as_ref().err().map_or("none".to_owned(), ToString::to_string);
        let _ = writeln!(
            html,
            "<tr><td>{what}</td><td>{}</td><td>{}</td></tr>",
            escaped(&text),
            verdict(found.is_ok())
        );
    }
    let Nearness { duplicates, distance, typical } = nearness::between(task, &items);
    let _ = writeln!(
        html,
        "<tr><td>test rows that repeat a training row</td><td>{duplicates}</td><td>{}</td></tr>",
        verdict(duplicates == 0)
    );
    if let (Some(distance), Some(typical)) = (distance, typical) {
        let _ = writeln!(
            html,
            "<tr><td>distance from test to train, 1st percentile</td><td>{} against {} within train</td><td>{}</td></tr>",
            short(distance),
            short(typical),
            verdict(distance >= CLOSEST * typical)
        );
    }
    let _ = write!(
        html,
        "</table></div>\n<p class=\"note\">The effect is |ρ| with the target, |2 AUC − 1| where it is one of two, and |z| of runs. A probe leaks if it is above {HARMLESS}, or {RUNS} for runs, and none of {PERMUTATIONS} shuffles reaches it; rows are too close below {CLOSEST} of the distance within train.{}</p>",
        if task.blueprint.series.is_some() {
            " Rows are in order of time by design, so their place is not probed."
        } else {
            ""
        }
    );
    Ok(html)
}

fn verdict(clean: bool) -> &'static str {
    if clean { "<span class=\"good\">clean</span>" } else { "<span class=\"bad\">leaks</span>" }
}

/// Every row's item, the rows of `train.csv` first; none where rows have none.
fn items(task: &Task) -> Result<Vec<Item>, GalleryError> {
    type Read = dyn Fn(&[u8]) -> Result<Reading, MediumError> + Sync;
    let of_medium;
    let (names, in_files, read): (Vec<String>, bool, &Read) =
        match (&task.blueprint.item, &task.blueprint.scene) {
            (Some(layout), _) => {
                let medium = layout.medium.medium();
                of_medium = |bytes: &[u8]| medium.read(bytes);
                let in_files = matches!(layout.storage(), Storage::Files { .. });
                (layout.columns(), in_files, &of_medium)
            }
            (None, Some(layout)) => (vec![layout.column.clone()], true, &scenes::reading),
            (None, None) => return Ok(Vec::new()),
        };
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
                (fs::read(&path)?, Some(path))
            } else {
                (lines.join("\n").into_bytes(), None)
            };
            let reading = read(&bytes).map_err(|error| match path {
                Some(path) => GalleryError::Unreadable { path, fault: error.to_string() },
                None => unreadable(format!("row {}: {error}", row + 1)),
            })?;
            Ok(Item { bytes, reading })
        };
        found.par_extend(
            table.rows.par_iter().enumerate().map(one).collect::<Result<Vec<_>, GalleryError>>()?,
        );
    }
    Ok(found)
}

/// What probes say of ids, order, names and sizes.
fn probes(task: &Task, items: &[Item]) -> Vec<(String, Finding)> {
    let cells = |column: Option<&str>| -> Vec<String> {
        let of = |table: &super::rows::Rows| -> Vec<String> {
            column
                .and_then(|name| table.place(name))
                .map(|place| table.column(place).map(str::to_owned).collect())
                .unwrap_or_default()
        };
        [of(&task.train), of(&task.test)].concat()
    };
    let ids = cells(Some(&task.dir.manifest().id_column));
    let numbers = |read: &dyn Fn(&String) -> f64| ids.iter().map(read).collect::<Vec<f64>>();
    let both: Vec<Vec<f64>> = flagged(task, &|target| [&target.train[..], &target.test].concat());
    let stream = |what: &str| task.blueprint.origin.stream("leaks").child(what);
    let probe = |what: &str, values: &[f64], targets: &[Vec<f64>]| {
        (what.to_owned(), probe::association(stream(what), values, targets))
    };
    let mut found = vec![
        probe("id, its value", &numbers(&|id| id.parse().unwrap_or(0.0)), &both),
        probe(
            "id, its last digit",
            &numbers(&|id| id.bytes().last().map_or(0.0, f64::from)),
            &both,
        ),
        probe("id, its digit sum", &numbers(&|id| id.bytes().map(f64::from).sum()), &both),
    ];
    if task.blueprint.series.is_none() {
        let train = flagged(task, &|target| target.train.clone());
        let test = flagged(task, &|target| target.test.clone());
        for (file, targets) in [("train.csv", train), ("test.csv", test)] {
            let rows = targets.first().map_or(0, Vec::len);
            let place: Vec<f64> = (0..rows).map(|row| row as f64).collect();
            found.push(probe(&format!("row order of {file}"), &place, &targets));
            let what = format!("runs of like rows in {file}");
            let finding = probe::runs(stream(&what), &targets);
            found.push((what, finding));
        }
    }
    let column = task.items().first().map(|items| task.train.header[items.column].clone());
    for (what, values) in files::name_probes(&cells(column.as_deref())) {
        found.push(probe(&format!("file name, its {what}"), &values, &both));
    }
    let sizes: Vec<f64> = items.iter().map(|item| item.bytes.len() as f64).collect();
    if probe::varies(&sizes) {
        let readings: Vec<&Reading> = items.iter().map(|item| &item.reading).collect();
        let format = task.blueprint.item.as_ref().map(|layout| layout.format);
        let known = legible(format, &readings);
        // Classes in the middle leave a bend: classes stay numbers here.
        let whole = |target: &Target| [&target.train[..], &target.test].concat();
        let rest: Vec<Vec<f64>> =
            task.targets.iter().map(|target| beyond(&known, &whole(target))).collect();
        found.push(probe("size of the item, beyond what is read inside", &sizes, &rest));
    } else if !sizes.is_empty() {
        let same = Finding { effect: 0.0, p: None };
        found.push(("size of the item, the same for all".to_owned(), same));
    }
    found
}

/// What checks say that ask for no effect.
fn findings(task: &Task, items: &[Item]) -> Vec<(&'static str, Result<(), Refusal>)> {
    let mut found = vec![
        ("times of files", files::times_say_nothing(&task.dir)),
        ("headers and chunks of files", files::headers_say_nothing(&task.dir)),
    ];
    if !items.is_empty() {
        let medium = task.blueprint.item.as_ref().map(|layout| layout.medium);
        let bytes: Vec<&[u8]> = items.iter().map(|item| &*item.bytes).collect();
        let (train, test) = bytes.split_at(task.train.rows.len().min(bytes.len()));
        let copies = copies::among(medium, train, test);
        found.push(("test items that are training items, changed a little", copies));
    }
    found
}

/// Some rows of each target, classes without an order as one flag each.
fn flagged(task: &Task, rows: &dyn Fn(&Target) -> Vec<f64>) -> Vec<Vec<f64>> {
    let graded = matches!(task.dir.manifest().prediction, Prediction::Relevance { .. });
    let one = |target: &Target| {
        let classes = if graded { 0 } else { target.classes.len() };
        probe::flags(rows(target), classes)
    };
    task.targets.iter().flat_map(one).collect()
}
