//! The leak probes once more, on the files as they lie there.
//!
//! The same probes and bounds as in [`crate::verify`], which runs them on the draft; where a
//! task has several targets, each is probed and the strongest correlation counts.

use super::GalleryError;
use super::html::{escaped, short};
use super::nearness::{self, Nearness};
use super::task::Task;
use crate::draws::Draws;
use crate::media::{Reading, Storage};
use crate::models::Matrix;
use crate::models::linear::Linear;
use crate::rule::moments;
use crate::verify::leaks::{CLOSEST, HARMLESS, PERMUTATIONS};
use fs_err as fs;
use rayon::prelude::*;
use sandbox::metrics::regression::spearman;
use std::fmt::Write as _;

/// What stands beside a row: its bytes and what solvers make of them.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) bytes: Vec<u8>,
    pub(super) reading: Reading,
}

/// What one probe found.
#[derive(Debug, Clone, PartialEq)]
struct Probe {
    what: &'static str,
    /// The strongest correlation, by size.
    rho: f64,
    /// Share of shuffles that reach it; only asked for where the correlation is of use.
    p: Option<f64>,
}

impl Probe {
    fn tells(&self) -> bool {
        self.p.is_some_and(|p| p <= 1.0 / (PERMUTATIONS + 1) as f64)
    }
}

/// The report as a table.
pub(super) fn report(task: &Task) -> Result<String, GalleryError> {
    let items = items(task)?;
    let mut html = String::from(
        "<div class=\"scroll\"><table class=\"leaks\">\n\
         <tr><th>probe</th><th>|ρ| with the target</th><th>verdict</th></tr>\n",
    );
    for probe in probes(task, &items) {
        let chance = probe.p.map_or(String::new(), |p| format!(" (p = {})", short(p)));
        let _ = writeln!(
            html,
            "<tr><td>{}</td><td>{:.3}{chance}</td><td>{}</td></tr>",
            escaped(probe.what),
            probe.rho,
            verdict(!probe.tells())
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
        "</table></div>\n<p class=\"note\">A probe leaks if |ρ| &gt; {HARMLESS} and none of {PERMUTATIONS} shuffles reaches it; rows are too close below {CLOSEST} of the distance within train.{}</p>",
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
    let Some(layout) = &task.blueprint.item else { return Ok(Vec::new()) };
    let medium = layout.medium.medium();
    let names: Vec<String> = match medium.storage() {
        Storage::Files { .. } | Storage::Cells(1) => vec![layout.column.clone()],
        Storage::Cells(count) => {
            ('a'..='z').take(count).map(|suffix| format!("{}_{suffix}", layout.column)).collect()
        }
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
            let (bytes, path) = if let Storage::Files { .. } = medium.storage() {
                let path = task.item_path(lines[0])?;
                (fs::read(&path)?, Some(path))
            } else {
                (lines.join("\n").into_bytes(), None)
            };
            let reading = medium.read(&bytes).map_err(|error| match path {
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

fn probes(task: &Task, items: &[Item]) -> Vec<Probe> {
    let id = &task.dir.manifest().id_column;
    let cells = |table: &super::rows::Rows| -> Vec<String> {
        table
            .place(id)
            .map(|place| table.column(place).map(str::to_owned).collect())
            .unwrap_or_default()
    };
    let ids = [cells(&task.train), cells(&task.test)].concat();
    let numbers = |read: &dyn Fn(&String) -> f64| ids.iter().map(read).collect::<Vec<f64>>();
    let both: Vec<Vec<f64>> =
        task.targets.iter().map(|target| [&target.train[..], &target.test].concat()).collect();
    let probe = |what, values: &[f64], targets: &[Vec<f64>]| probe(task, what, values, targets);
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
        let train: Vec<Vec<f64>> = task.targets.iter().map(|t| t.train.clone()).collect();
        let test: Vec<Vec<f64>> = task.targets.iter().map(|t| t.test.clone()).collect();
        for (what, targets) in [("row order of train.csv", train), ("row order of test.csv", test)]
        {
            let rows = targets.first().map_or(0, Vec::len);
            let place: Vec<f64> = (0..rows).map(|row| row as f64).collect();
            found.push(probe(what, &place, &targets));
        }
    }
    let sizes: Vec<f64> = items.iter().map(|item| item.bytes.len() as f64).collect();
    if !sizes.is_empty() {
        if moments(&sizes).1 > 0.0 {
            // Beyond what anyone in a hurry reads inside: more links make a longer list.
            let width = items.first().map_or(0, |item| item.reading.plain.len());
            let column =
                |index: usize| items.iter().map(|item| item.reading.plain[index]).collect();
            let plain = Matrix::from_columns(&(0..width).map(column).collect::<Vec<Vec<f64>>>());
            let rest = |target: &Vec<f64>| {
                let read = Linear::ridge(&plain, target, 1.0).score(&plain);
                target.iter().zip(read).map(|(target, read)| target - read).collect()
            };
            let rest: Vec<Vec<f64>> = both.iter().map(rest).collect();
            found.push(probe("size of the item, beyond plain readings", &sizes, &rest));
        } else {
            found.push(Probe { what: "size of the item, the same for all", rho: 0.0, p: None });
        }
    }
    found
}

/// The strongest correlation with any target, and how often shuffled rows reach it.
fn probe(task: &Task, what: &'static str, values: &[f64], targets: &[Vec<f64>]) -> Probe {
    let strongest = |values: &[f64]| {
        let rho = |target: &Vec<f64>| spearman(target, values).unwrap_or(0.0).abs();
        targets.iter().map(rho).fold(0.0, f64::max)
    };
    let rho = strongest(values);
    if rho <= HARMLESS {
        return Probe { what, rho, p: None };
    }
    let mut draws = Draws::new(task.blueprint.origin.stream("leaks").child(what));
    let mut shuffled = values.to_vec();
    let reached = (0..PERMUTATIONS)
        .filter(|_| {
            draws.shuffle(&mut shuffled);
            strongest(&shuffled) >= rho
        })
        .count();
    Probe { what, rho, p: Some((reached + 1) as f64 / (PERMUTATIONS + 1) as f64) }
}
