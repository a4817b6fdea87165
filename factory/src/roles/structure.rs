//! What a task takes over from the structure of its seed: how many classes it has and how unevenly
//! rows fall into them, and how rare positives are.

use super::strategist::percent;
use crate::data::places::toward;
use crate::numeric::draws::{Draws, floor};
use crate::numeric::rounding::round;
use crate::spec::blueprint::{Blueprint, Origin};
use crate::spec::config::Preset;
use crate::spec::dna::Dna;
use crate::spec::layout::{Layout, QueryLayout};
use crate::spec::mix::Cell;
use crate::spec::scenario::{MapSpec, WordColumn};
use crate::spec::seed::Trait;
use crate::spec::structure::{
    DateSpec, Drift, GroupSpec, ParentSpec, PlaceSpec, ReadingSpec, RecordFormat, RecordSpec,
    Relation, RowStructure, Summary, There, ZeroSpec,
};
use std::f64::consts::TAU;
use tasks::metrics::Metric;
use tasks::task::{Formulation, Modality, RowCounts, Split};

/// Classes without an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClassPlan {
    /// How many there are.
    pub count: usize,
    /// How many times as many rows the most frequent class has as the rarest; 1 if all have the same.
    pub ratio: f64,
    /// Whether they are kinds of what pictures show.
    pub pictured: bool,
}

/// What a task takes over from the structure of its seed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Structure {
    /// Classes without an order; `None` if classes have an order, or there are none.
    pub classes: Option<ClassPlan>,
    /// Share of rows that are positive, where two classes are far from even.
    pub positive: Option<f64>,
    /// Whether there are fewer training rows than usual.
    pub few: bool,
    /// Whether rows differ in how far they lie from their middle, and it is asked how far.
    pub uneven: bool,
}

/// Training rows of each class, where there are many, and most training rows of such a table.
const CLASS_ROWS: (usize, usize) = (15, 600);
/// Training rows of each kind of what pictures show: they are read with errors.
const PICTURES: usize = 25;
/// Fewest and most kinds of what pictures show: of more, what is read of a picture tells too few
/// apart.
const KINDS: (usize, usize) = (5, 12);
/// Most rows of the most frequent kind for each of the rarest.
const UNEVEN_KINDS: f64 = 4.0;
/// Share of pictures whose kinds are asked for, where the seed has classes without an order.
const KINDS_ASKED: f64 = 0.7;
/// How many times as many rows the most frequent class has as the rarest, from which on the rarest
/// have hardly any.
const LONG_TAIL: f64 = 15.0;
/// Most classes of a table.
const MOST_CLASSES: usize = 40;
/// Most classes of which the probability of each is asked for.
const MOST_LIKELY: usize = 12;
/// Test rows of a table whose classes are many or uneven.
const MOST_TESTED: usize = 1500;
/// Positive training rows below which nothing is found.
const POSITIVES: f64 = 35.0;
/// Training and test rows that rare positives may take.
const RARE_ROWS: (usize, usize) = (1000, 3000);

/// Whether a task takes over the structure of its seed. Only tables of our own rows do: what items
/// say is read with errors, and lower rungs would see nothing of rare classes or of dozens; a
/// generator draws rows by its own program; and the paper's tasks have too few rows. Of what pictures
/// show, some kinds are asked for all the same, see [`Structure::draw`].
pub(super) fn shapes(blueprint: &Blueprint) -> bool {
    blueprint.modality == Modality::Tabular
        && blueprint.preset == Preset::Large
        && blueprint.generated().is_none()
}

/// Whether few rows hold most of what a seed asks for.
fn is_uneven(dna: &Dna) -> bool {
    dna.distribution == "imbalanced" || dna.has(Trait::ClassImbalance) || is_long_tailed(dna)
}

/// Whether a seed has a few frequent classes and many rare ones.
fn is_long_tailed(dna: &Dna) -> bool {
    dna.distribution == "long-tail" || dna.has(Trait::LongTail)
}

impl Structure {
    /// Draws the structure of a task of this kind. Tables have one, see [`shapes`]; of pictures, some
    /// show things of several kinds.
    pub(super) fn draw(cell: Cell, dna: &Dna, draws: &mut Draws) -> Self {
        let asks = cell.formulation;
        let unordered = asks == Formulation::Multiclass && !dna.has(Trait::Ordinal);
        match cell.modality {
            Modality::Tabular => {}
            Modality::Image | Modality::Multimodal if unordered => {
                return Self { classes: kinds(dna, draws), ..Self::default() };
            }
            _ => return Self::default(),
        }
        let classes = unordered.then(|| classes(dna, draws)).flatten();
        let flags = matches!(asks, Formulation::Binary | Formulation::Multilabel);
        // One seed in four lends its other traits alone: rare positives suit few metrics.
        let positive = (flags && is_uneven(dna) && draws.chance(0.75)).then(|| {
            let (least, most) = match asks {
                Formulation::Binary => (0.02, 0.14),
                _ => (0.1, 0.18),
            };
            let share = least * libm::pow(most / least, draws.unit());
            (1000.0 * share).round() / 1000.0
        });
        let uneven = asks == Formulation::Quantiles;
        Self { classes, positive, few: dna.has(Trait::FewRows), uneven }
    }

    /// Numbers of rows that suit the structure, from those usual for the task.
    pub(super) fn rows(&self, usual: RowCounts, queries: Option<&QueryLayout>) -> RowCounts {
        if queries.is_some() {
            return usual;
        }
        let (mut train, mut test) = (usual.train, usual.test);
        if self.few {
            // Still enough for a line and a forest.
            train = train * 3 / 4;
        }
        if self.uneven {
            // A spread takes more rows to see than a middle.
            train = train * 17 / 10;
        }
        if let Some(plan) = self.classes {
            if plan.pictured {
                // Pictures cost too much for more test rows.
                return RowCounts { train: train.max(PICTURES * plan.count), test };
            }
            let (each, most) = CLASS_ROWS;
            train = train.max((each * plan.count).min(most));
            // Rare classes are judged by few rows.
            test = test.max((900 + 15 * plan.count).min(MOST_TESTED));
        }
        if let Some(share) = self.positive {
            let rows = |count: f64, most: usize| floor(count / share).min(most);
            let (most, most_tested) = RARE_ROWS;
            train = train.max(rows(POSITIVES, most));
            test = test.max(rows(2.0 * POSITIVES, most_tested));
        }
        RowCounts { train, test }
    }

    /// Whether a metric suits the structure: it has to be defined on samples of the test rows, and
    /// not to be at its best for a model that leaves out what is rare.
    pub(super) fn suits(&self, metric: Metric) -> bool {
        if let Some(plan) = self.classes {
            return match metric {
                Metric::QuadraticKappa => false,
                // A sample of the rows has to hold every class.
                Metric::OvrAuc => plan.ratio < 2.0 && plan.count <= MOST_LIKELY,
                // Of dozens, the probabilities of the lower rungs are worse than the classes' shares.
                Metric::LogLoss => plan.count <= MOST_LIKELY,
                // At the end of a long tail, a class has two or three training rows: their mean is
                // mostly luck.
                Metric::MacroF1 | Metric::BalancedAccuracy => plan.ratio <= LONG_TAIL,
                _ => true,
            };
        }
        match self.positive {
            // The lower rungs hardly ever give a rare class more than half: labels would all be
            // negative.
            Some(_) => matches!(
                metric,
                Metric::RocAuc | Metric::AveragePrecision | Metric::LogLoss | Metric::MeanColumnAuc
            ),
            None => true,
        }
    }
}

/// How many classes a task has and how uneven they are; `None` if they have the story's order.
fn classes(dna: &Dna, draws: &mut Draws) -> Option<ClassPlan> {
    let most = MOST_CLASSES;
    let known = dna.cardinality.and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
    let many = dna.has(Trait::FewPerClass) || dna.has(Trait::Hierarchy) || is_long_tailed(dna);
    let count = match known {
        // A seed that asks for something else: a few classes, one time in four the story's own.
        0..=2 if !many => {
            if draws.chance(0.25) {
                return None;
            }
            draws.whole(3, 7)
        }
        3.. if known <= most => known,
        _ => draws.whole(most * 2 / 3, most),
    };
    let ratio = if is_long_tailed(dna) {
        draws.between(20.0, 50.0)
    } else if is_uneven(dna) {
        draws.between(4.0, 12.0)
    } else {
        1.0
    };
    // Beyond, classes at the end of a tail are single rows, whose F1 is mostly luck.
    let most = if ratio > LONG_TAIL { most.min(30) } else { most };
    Some(ClassPlan { count: count.clamp(2, most), ratio: percent(ratio), pictured: false })
}

/// How many kinds of things the pictures of a task show and how uneven they are; `None` if the task
/// asks for the story's grades.
fn kinds(dna: &Dna, draws: &mut Draws) -> Option<ClassPlan> {
    if !draws.chance(KINDS_ASKED) {
        return None;
    }
    let plan = classes(dna, draws)?;
    let (fewest, most) = KINDS;
    let count = if plan.count > most { draws.whole(most * 2 / 3, most) } else { plan.count };
    let ratio = plan.ratio.min(UNEVEN_KINDS);
    Some(ClassPlan { count: count.max(fewest), ratio, pictured: true })
}

/// Columns of groups and of the coarser groups that they are nested in, by domain.
const GROUPS: [(&str, &str, &str); 13] = [
    ("agriculture", "farm", "district"),
    ("astronomy", "telescope_night", "observatory"),
    ("education", "school_class", "school_kind"),
    ("energy", "plant", "grid_zone"),
    ("environment", "plot", "reserve"),
    ("finance", "branch", "division"),
    ("geoscience", "borehole", "basin"),
    ("healthcare", "patient_code", "clinic"),
    ("it_operations", "host", "data_hall"),
    ("manufacturing", "machine_code", "hall"),
    ("public_safety", "station_code", "command"),
    ("retail", "shop_code", "sales_area"),
    ("transport", "vehicle_code", "depot"),
];

/// Name of the column with dates.
const DATE: &str = "recorded_on";

/// Files of records and of what they refer to, by domain: the stem of the first file, that of the
/// second, and the column that both have.
const FILES: [(&str, &str, &str, &str); 13] = [
    ("agriculture", "inspections", "inputs", "input_code"),
    ("astronomy", "exposures", "reference_stars", "star_code"),
    ("education", "lessons", "exercises", "exercise_code"),
    ("energy", "meter_log", "devices", "device_code"),
    ("environment", "samples", "sites", "site_code"),
    ("finance", "bookings", "products", "product_code"),
    ("geoscience", "cores", "minerals", "mineral_code"),
    ("healthcare", "visits", "procedures", "procedure_code"),
    ("it_operations", "probes", "services", "service_code"),
    ("manufacturing", "checks", "parts", "part_code"),
    ("public_safety", "calls", "units", "unit_code"),
    ("retail", "orders", "articles", "article_code"),
    ("transport", "trips", "stops", "stop_code"),
];

/// Name of the column with a record's day.
const DAY: &str = "noted_on";
/// Where records come from.
const SOURCES: &str = "noted_by: device hand import";
/// Items of a catalogue: so many that each is rare.
const ITEMS: (usize, usize) = (120, 180);
/// Share of files of records that are lines of JSON.
const NESTED: f64 = 0.4;
/// Share of the others that are Parquet: 0.15 of all.
const COLUMNAR: f64 = 0.25;
/// Share of training tables with records, beside those whose seed has related tables.
const RECORDED: f64 = 0.15;
/// The same of held-out tables, whose records are like those of no training task.
const NOVEL: f64 = 0.6;

/// The relation of a row to its records: in training what is usually computed of them finds it, in
/// held-out tasks nothing but a look at the files does.
fn relation(
    split: Split,
    sources: &[String],
    [second, item]: [&str; 2],
    draws: &mut Draws,
) -> Relation {
    if split == Split::Train {
        return draws.pick(&[Relation::Mean, Relation::Largest]).clone();
    }
    let relations = [
        Relation::Latest,
        Relation::Source { name: draws.pick(sources).clone() },
        Relation::Catalogue {
            file: second.to_owned(),
            item: item.to_owned(),
            items: draws.whole(ITEMS.0, ITEMS.1),
        },
    ];
    draws.pick(&relations).clone()
}

/// The records of a blueprint's rows: where its seed has related tables, in some other training
/// tables, and in most held-out ones. They hold one of the `causes`.
fn records(
    blueprint: &Blueprint,
    causes: &[&str],
    taken: impl Fn(&str) -> bool,
    draws: &mut Draws,
) -> Option<RecordSpec> {
    let share = match blueprint.split {
        Split::Train => RECORDED,
        Split::Val => NOVEL,
    };
    if !draws.chance(share) && !blueprint.dna.has(Trait::RelatedTables) || causes.is_empty() {
        return None;
    }
    let known = FILES.iter().find(|(domain, ..)| *domain == blueprint.domain);
    let (_, file, second, item) = known.copied().unwrap_or(("", "log", "catalogue", "item_code"));
    let source = WordColumn::try_from(SOURCES.to_owned()).ok()?;
    if [DAY, source.name.as_str(), item].iter().any(|name| taken(name)) {
        return None;
    }
    Some(RecordSpec {
        of: (*draws.pick(causes)).to_owned(),
        relation: relation(blueprint.split, &source.words, [second, item], draws),
        file: file.to_owned(),
        day: DAY.to_owned(),
        source,
        least: 4,
        most: draws.whole(7, 10),
        format: record_format(&blueprint.origin),
    })
}

/// How the records of a task are written, from streams of their own: no other choice moves with it.
fn record_format(origin: &Origin) -> RecordFormat {
    let chance = |stage: &str, share: f64| Draws::new(origin.stream(stage)).chance(share);
    if chance("record format", NESTED) {
        RecordFormat::JsonLines
    } else if chance("parquet records", COLUMNAR) {
        RecordFormat::Parquet
    } else {
        RecordFormat::Csv
    }
}

/// Share of tables with places, of those whose story has a map and that are not to have records.
const MAPPED: f64 = 0.7;
/// Farthest places that stand in no file, in kilometres: several have room side by side.
const MOST_UNWRITTEN: f64 = 400.0;
/// How far unwritten places are from the middle, in the largest distances of rows from them. Of three,
/// any two are then farther apart than a row may be from both.
const APART: f64 = 1.3;
/// Latitudes and longitudes of towns that rows are around, in degrees.
const TOWNS: [[f64; 2]; 12] = [
    [45.76, 4.84],
    [41.15, -8.61],
    [51.34, 12.37],
    [50.06, 19.94],
    [53.48, -2.24],
    [39.74, -104.99],
    [44.98, -93.26],
    [19.43, -99.13],
    [-30.03, -51.22],
    [-33.92, 18.42],
    [12.97, 77.59],
    [35.01, 135.77],
];

/// The places of a blueprint's rows, if one of the `causes` is the distance of a story's map.
fn places(blueprint: &Blueprint, map: Option<&MapSpec>, causes: &[&str]) -> Option<PlaceSpec> {
    let map = map.filter(|map| causes.contains(&map.distance.as_str()))?;
    let mut draws = Draws::new(blueprint.origin.stream("places"));
    if !draws.chance(MAPPED) {
        return None;
    }
    let unit = map.unit()?;
    let column = blueprint.numbers.iter().find(|column| column.name == map.distance)?;
    let (farthest, middle) = (column.high * unit, *draws.pick(&TOWNS));
    let there = if blueprint.split == Split::Train || farthest > MOST_UNWRITTEN {
        There::Written { name: map.there.clone() }
    } else {
        let (count, first) = (draws.whole(2, 3), draws.between(0.0, TAU));
        let place = |at: usize| {
            let direction = first + TAU * at as f64 / count as f64;
            toward(middle, APART * farthest, direction).map(|degrees| round(degrees, 4))
        };
        There::Unwritten { places: (0..count).map(place).collect() }
    };
    Some(PlaceSpec { of: map.distance.clone(), unit, here: map.here.clone(), there, middle })
}

/// What binds the rows of a blueprint that has its columns, but no targets yet. `causes` are the
/// columns that rules can use for all of its targets, `map` is what its story says of places.
pub(super) fn rows(
    blueprint: &Blueprint,
    causes: &[&str],
    map: Option<&MapSpec>,
    draws: &mut Draws,
) -> RowStructure {
    let dna = &blueprint.dna;
    let mut structure = RowStructure::default();
    if !shapes(blueprint) || !matches!(blueprint.layout, Layout::Rows(_)) {
        return structure;
    }
    let taken = |name: &str| {
        let words = blueprint.words.iter().map(|spec| spec.column.name.as_str());
        let numbers = blueprint.numbers.iter().map(|column| column.name.as_str());
        let item = blueprint.item().map(|item| item.column.as_str());
        words.chain(numbers).chain(item).any(|known| known == name)
    };
    let names: Vec<&str> = blueprint.numbers.iter().map(|column| column.name.as_str()).collect();
    let some = |count: usize, draws: &mut Draws| -> Vec<String> {
        let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        draws.shuffle(&mut names);
        names.truncate(count);
        names
    };
    let known = GROUPS.iter().find(|(domain, ..)| *domain == blueprint.domain);
    let (_, group, parent) = known.copied().unwrap_or(("", "site", "region"));
    let nested = dna.has(Trait::Hierarchy) && !taken(parent);
    if (dna.has(Trait::GroupKeys) || nested) && !taken(group) {
        structure.groups = Some(GroupSpec {
            column: group.to_owned(),
            size: draws.whole(4, 7),
            columns: some(3, draws),
            alike: percent(draws.between(0.45, 0.65)),
            shift: percent(draws.between(0.1, 0.2)),
            within: nested
                .then(|| ParentSpec { column: parent.to_owned(), count: draws.whole(4, 6) }),
        });
    }
    if (dna.has(Trait::Drift) || dna.has(Trait::Regimes)) && !taken(DATE) {
        let mut drifts = Vec::new();
        for column in some(2, draws) {
            let size = percent(draws.between(0.5, 1.0));
            drifts.push(Drift { column, size: if draws.chance(0.5) { size } else { -size } });
        }
        structure.dates = Some(DateSpec {
            column: DATE.to_owned(),
            first: i32::try_from(draws.whole(15_000, 20_000)).unwrap_or(0),
            days: draws.whole(200, 330),
            drifts,
        });
    }
    // The last column distracts in most tasks, and the one before it belongs to the rules.
    let mut back = blueprint.numbers.iter().rev();
    if dna.has(Trait::ZeroInflated)
        && let Some(column) = back.by_ref().find(|column| column.low >= 0.0)
    {
        let share = percent(draws.between(0.55, 0.75));
        structure.zeros = Some(ZeroSpec { column: column.name.clone(), share });
    }
    if dna.has(Trait::VariableLength)
        && let Some(column) = back.next()
    {
        structure.readings = Some(ReadingSpec {
            column: format!("{}_readings", column.name),
            of: column.name.clone(),
            summary: *draws.pick(&[Summary::Mean, Summary::Max]),
            least: 2,
            most: draws.whole(8, 12),
        });
    }
    let causes: Vec<&str> =
        causes.iter().copied().filter(|name| structure.is_ordinary(name)).collect();
    structure.records = records(blueprint, &causes, taken, draws);
    // Few stories have a map, and most held-out tables have records: there, places come first.
    let held_out = blueprint.split == Split::Val && !dna.has(Trait::RelatedTables);
    if structure.records.is_none() || held_out {
        structure.places = places(blueprint, map, &causes);
    }
    if structure.places.is_some() {
        structure.records = None;
    }
    structure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_lines_of_json_as_often_as_ever_and_sometimes_parquet() {
        let count = 4000;
        let origin = |slot: u64| Origin { corpus_seed: 6, slot, attempt: slot % 3 };
        let formats: Vec<RecordFormat> =
            (0..count).map(|slot| record_format(&origin(slot))).collect();
        for (slot, format) in (0..count).zip(&formats) {
            // Parquet takes nothing from them.
            let nested = Draws::new(origin(slot).stream("record format")).chance(NESTED);
            assert_eq!(nested, *format == RecordFormat::JsonLines);
        }
        let expected = [
            (RecordFormat::Csv, 0.45),
            (RecordFormat::JsonLines, 0.4),
            (RecordFormat::Parquet, 0.15),
        ];
        for (format, share) in expected {
            let found = formats.iter().filter(|one| **one == format).count() as f64 / count as f64;
            assert!((found - share).abs() < 0.03, "{format:?}: {found}");
        }
    }
}
