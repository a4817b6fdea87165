//! Tasks for tests of pages.

use crate::data::assets::Assets;
use crate::roles::{Brief, strategist};
use crate::spec::blueprint::{Blueprint, Origin};
use crate::spec::config::Preset;
use crate::spec::levels::Levels;
use crate::spec::mix::Cell;
use crate::spec::plan::Slot;
use crate::spec::scenario::{self, Scenario, Story};
use crate::spec::seed::{Seed, Trait};
use crate::spec::seed_set::{MLEBENCH, SeedSet};
use crate::verify;
use std::sync::LazyLock;
use tasks::task::{RowCounts, Split, TaskId};

/// All seeds and stories, parsed once for all tasks of a test.
static LIBRARY: LazyLock<(SeedSet, Vec<Scenario>)> =
    LazyLock::new(|| (SeedSet::resolve(MLEBENCH).unwrap(), scenario::all().unwrap()));

/// Most rows of tasks with items.
const FEW: RowCounts = RowCounts { train: 60, test: 30 };

/// A task without its ladder, which pages do not need.
pub(crate) struct RenderedTask {
    pub(crate) blueprint: Blueprint,
    pub(crate) scenario: Scenario,
    pub(crate) assets: Assets,
}

impl RenderedTask {
    /// The `index`-th task of a kind, each from another story.
    pub(crate) fn new(cell: Cell, index: u64) -> Self {
        Self::of(cell, index, 0, Split::Train, Preset::Paper)
    }

    /// The same held out and with many test rows: more than half of such tables have records.
    pub(crate) fn held_out(cell: Cell, index: u64) -> Self {
        Self::of(cell, index, 0, Split::Val, Preset::Large)
    }

    /// Tasks of both sides whose rows have places on a map.
    pub(crate) fn placed() -> Vec<Self> {
        let cell: Cell = "tabular/binary".parse().unwrap();
        let (seeds, stories) = &*LIBRARY;
        // What has records has no places.
        let related = |seed: &Seed| seed.traits.contains(&Trait::RelatedTables);
        let seed = seeds.seeds().iter().position(|seed| !related(seed)).unwrap();
        let has_map = |story: &&Scenario| match &story.story {
            Story::Table(table) => table.map.is_some(),
            _ => false,
        };
        let fitting = stories.iter().filter(|story| story.serves(cell)).zip(0..);
        let with_map = fitting.filter(|(story, _)| has_map(story));
        let both = with_map.flat_map(|(_, index)| [(index, Split::Train), (index, Split::Val)]);
        let tasks = both.map(|(index, split)| Self::of(cell, index, seed, split, Preset::Large));
        tasks.filter(|task| task.blueprint.structure.places.is_some()).collect()
    }

    fn of(cell: Cell, index: u64, seed: usize, split: Split, preset: Preset) -> Self {
        let (seeds, stories) = &*LIBRARY;
        let fitting: Vec<usize> =
            (0..stories.len()).filter(|story| stories[*story].serves(cell)).collect();
        let chosen = fitting[usize::try_from(index).unwrap() % fitting.len()];
        let task = TaskId::new(&format!("{index:04}-test")).unwrap();
        let scenario = stories[chosen].clone();
        let slot = Slot { index, task, cell, split, seed, scenario: chosen, variant: 0 };
        let attempt = |attempt| {
            let brief = Brief {
                slot: &slot,
                seed: &seeds.seeds()[seed],
                scenario: &scenario,
                origin: Origin { corpus_seed: 5, slot: index, attempt },
                preset,
                levels: Levels::default(),
            };
            let mut blueprint = strategist::strategise(&brief).ok()?;
            if blueprint.item().is_some() && blueprint.queries().is_none() {
                // Pages say the same of a few pictures and sounds, which take long to draw.
                let RowCounts { train, test } = &mut blueprint.rows;
                (*train, *test) = ((*train).min(FEW.train), (*test).min(FEW.test));
            }
            let assets = blueprint.kind().render(&blueprint, None).unwrap();
            // A range that the page tells can be a number of the rule.
            let page = super::builtin(&blueprint, &scenario, &assets);
            verify::rule_is_not_on_page(&page, &blueprint).ok()?;
            Some((blueprint, assets))
        };
        // Not every attempt finds a balanced rule, or a page that tells nothing of it.
        let (blueprint, assets) = (0..20).find_map(attempt).unwrap();
        Self { blueprint, scenario, assets }
    }
}
