//! Briefs for tests.

use super::Brief;
use crate::spec::blueprint::Origin;
use crate::spec::config::Preset;
use crate::spec::levels::Levels;
use crate::spec::mix::Cell;
use crate::spec::plan::Slot;
use crate::spec::scenario::{self, Scenario};
use crate::spec::seed_set::{MLEBENCH, SeedSet};
use tasks::task::{Split, TaskId};

/// Slots of one kind of task, one after another with each of the stories that serve it.
pub(super) struct BriefSet {
    seeds: SeedSet,
    stories: Vec<Scenario>,
    slots: Vec<Slot>,
}

impl BriefSet {
    pub(super) fn new(cell: &str, count: u64) -> Self {
        let cell: Cell = cell.parse().unwrap();
        let stories = scenario::all().unwrap();
        let fitting = (0..stories.len()).filter(|story| stories[*story].serves(cell));
        let fitting: Vec<usize> = fitting.collect();
        let slot = |index: u64| {
            let scenario = fitting[usize::try_from(index).unwrap() % fitting.len()];
            let task = TaskId::new(&format!("{index:04}-test")).unwrap();
            Slot { index, task, cell, split: Split::Train, seed: 0, scenario, variant: 0 }
        };
        let slots = (0..count).map(slot).collect();
        Self { seeds: SeedSet::resolve(MLEBENCH).unwrap(), stories, slots }
    }

    /// A brief per slot, at the first attempt.
    pub(super) fn briefs(&self) -> impl Iterator<Item = Brief<'_>> {
        self.slots.iter().map(|slot| Brief {
            slot,
            seed: &self.seeds.seeds()[slot.seed],
            scenario: &self.stories[slot.scenario],
            origin: Origin { corpus_seed: 3, slot: slot.index, attempt: 0 },
            preset: Preset::Large,
            levels: Levels::default(),
        })
    }
}
