//! Which tasks of a corpus a page shows.

use super::GalleryError;
use crate::spec::mix::{Cell, chosen, name};
use camino::Utf8Path;
use std::collections::BTreeMap;
use tasks::task::{Corpus, TaskDir};

/// Tasks on a page unless said otherwise: room for one of every kind.
pub const LIMIT: usize = 40;

/// What a user wants to see of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Largest number of tasks that are shown.
    pub limit: usize,
    /// Modalities by name; empty for all.
    pub modalities: Vec<String>,
    /// Formulations by name; empty for all.
    pub formulations: Vec<String>,
}

impl Default for Wish {
    fn default() -> Self {
        Self { limit: LIMIT, modalities: Vec::new(), formulations: Vec::new() }
    }
}

/// The tasks of a page.
#[derive(Debug)]
pub(super) struct Choice {
    /// In order of their cells, then of their names.
    pub(super) tasks: Vec<TaskDir>,
    /// How many there are of the kinds asked for.
    pub(super) matching: usize,
    /// Kinds that found no room.
    pub(super) left_out: Vec<String>,
}

/// The modality and formulation of a task.
pub(super) fn cell(task: &TaskDir) -> Cell {
    Cell { modality: task.manifest().modality, formulation: task.manifest().formulation }
}

/// Goes through the cells in turns, so that each has one task before any has two.
pub(super) fn choose(dir: &Utf8Path, wish: &Wish) -> Result<Choice, GalleryError> {
    let modalities = chosen(&wish.modalities, |cell| name(&cell.modality))?;
    let formulations = chosen(&wish.formulations, |cell| name(&cell.formulation))?;
    let corpus = Corpus::open(dir)?;
    let mut cells: BTreeMap<String, Vec<&TaskDir>> = BTreeMap::new();
    let mut matching = 0;
    for task in corpus.tasks() {
        let cell = cell(task);
        if modalities(cell) && formulations(cell) {
            cells.entry(cell.to_string()).or_default().push(task);
            matching += 1;
        }
    }
    if matching == 0 {
        return Err(GalleryError::NothingChosen(dir.to_owned()));
    }
    let mut shares: BTreeMap<&str, usize> = BTreeMap::new();
    let mut room = wish.limit.max(1).min(matching);
    while room > 0 {
        for (cell, tasks) in &cells {
            let share = shares.entry(cell).or_default();
            if room > 0 && *share < tasks.len() {
                *share += 1;
                room -= 1;
            }
        }
    }
    let left_out = cells.keys().filter(|cell| shares[cell.as_str()] == 0).cloned().collect();
    let tasks = cells
        .iter()
        .flat_map(|(cell, tasks)| tasks.iter().take(shares[cell.as_str()]))
        .map(|task| (*task).clone())
        .collect();
    Ok(Choice { tasks, matching, left_out })
}
