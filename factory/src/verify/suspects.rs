//! What must know nothing of the targets: ids, places, file names, sizes, links and records of rows.

use super::probe::{self, Finding};
use crate::data::items::Item;
use crate::media::Format;
use crate::numeric::linear::Linear;
use crate::numeric::matrix::from_rows;
use crate::spec::blueprint::Blueprint;
use camino::Utf8Path;
use ndarray::Array2;
use std::collections::{BTreeMap, BTreeSet};
use tasks::file_label;
use tasks::stream::Stream;

/// Words of file names that are probed, the most frequent first.
const WORDS: usize = 32;

/// The property of rows that a probe uses to predict the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// The ids of the rows.
    Id,
    /// Places of rows in their files.
    Order,
    /// Names of rows' files.
    Name,
    /// The sizes of items, in bytes.
    Size,
    /// How links are written.
    Link,
    /// How records are written.
    Record,
}

impl Carrier {
    /// All carriers that are probed.
    pub(crate) const ALL: [Self; 6] =
        [Self::Id, Self::Order, Self::Name, Self::Size, Self::Link, Self::Record];
}

/// One thing about rows, held against their targets.
#[derive(Debug)]
pub(crate) struct Probe {
    /// What about the rows.
    pub(crate) what: String,
    /// Effect and p-value of the probe.
    pub(crate) finding: Finding,
}

/// The truth of one target, all rows of `train.csv` first.
#[derive(Debug)]
pub(crate) struct Truths {
    /// One number per row: target, class index or grade.
    pub(crate) values: Vec<f64>,
    /// Number of classes; 0 for numbers and grades.
    pub(crate) classes: usize,
}

/// Properties of a task's rows that must not predict the target. The rows of `train.csv` come
/// first everywhere.
#[derive(Debug)]
pub(crate) struct Suspects<'a> {
    /// Where shuffles come from.
    pub(crate) stream: Stream,
    /// One id per row.
    pub(crate) ids: Vec<&'a str>,
    /// Names of the rows' files within the public half, without announced labels; none where rows have
    /// none.
    pub(crate) names: Vec<String>,
    /// Items; none where rows have none.
    pub(crate) items: Vec<&'a Item>,
    /// What items are written as.
    pub(crate) format: Option<Format>,
    /// Links between rows, by their places here, in the order in which they are written.
    pub(crate) links: Vec<[usize; 2]>,
    /// The row of each record, by its place here, in the order in which records are written.
    pub(crate) records: Vec<usize>,
    /// The truth, one entry per target.
    pub(crate) truths: Vec<Truths>,
    /// Number of rows of `train.csv`.
    pub(crate) known: usize,
    /// Whether rows are in order of time by design. A row's place then carries no more than its
    /// written time does, and is not probed.
    pub(crate) timed: bool,
}

impl Suspects<'_> {
    /// All probes of one kind.
    pub(crate) fn probes(&self, carrier: Carrier) -> Vec<Probe> {
        match carrier {
            Carrier::Id => self.of_ids(),
            Carrier::Order => self.of_order(),
            Carrier::Name => self.of_names(),
            Carrier::Size => self.of_sizes(),
            Carrier::Link => self.of_links(),
            Carrier::Record => self.of_records(),
        }
    }

    /// The id as a number, and its digits.
    fn of_ids(&self) -> Vec<Probe> {
        let targets = self.targets(0..self.ids.len());
        let probe = |what, read: fn(&str) -> f64| {
            let values: Vec<f64> = self.ids.iter().map(|id| read(id)).collect();
            self.probe(what, &values, &targets)
        };
        vec![
            probe("the id's value", |id| id.parse().unwrap_or(0.0)),
            probe("the id's last digit", |id| id.bytes().last().map_or(0.0, f64::from)),
            probe("the id's digit sum", |id| id.bytes().map(f64::from).sum()),
        ]
    }

    /// A row's place in its file, and the truth of the rows around it.
    fn of_order(&self) -> Vec<Probe> {
        let mut probes = Vec::new();
        if self.timed {
            return probes;
        }
        let files = [("train.csv", 0..self.known), ("test.csv", self.known..self.ids.len())];
        for (file, rows) in files {
            let place: Vec<f64> = rows.clone().map(|row| row as f64).collect();
            let targets = self.targets(rows);
            probes.push(self.probe(&format!("a row's place in {file}"), &place, &targets));
            let what = format!("runs of like rows in {file}");
            let finding = probe::runs(self.stream.child(&what), &targets);
            probes.push(Probe { what, finding });
        }
        probes
    }

    /// What can be read off the names of files: their places in the listing of all of them,
    /// their lengths and letters, and words that some of them share. What is the same for all
    /// is left out.
    fn of_names(&self) -> Vec<Probe> {
        let names = &self.names;
        let mut sorted: Vec<&String> = names.iter().collect();
        sorted.sort();
        let place = |name: &String| sorted.binary_search(&name).unwrap_or(0) as f64;
        let letter = |letter: Option<&u8>| letter.map_or(0.0, |byte| f64::from(*byte));
        let numbers = |read: &dyn Fn(&[u8]) -> f64| -> Vec<f64> {
            names.iter().map(|name| read(stem(name).as_bytes())).collect()
        };
        let mut values = vec![
            ("place in the listing".to_owned(), names.iter().map(place).collect()),
            ("length".to_owned(), numbers(&|stem| stem.len() as f64)),
            ("first letter".to_owned(), numbers(&|stem| letter(stem.first()))),
            ("last letter".to_owned(), numbers(&|stem| letter(stem.last()))),
            (
                "sum of letters".to_owned(),
                numbers(&|stem| stem.iter().map(|b| f64::from(*b)).sum()),
            ),
        ];
        for word in shared_words(names) {
            let holds = |name: &String| f64::from(u8::from(words(name).any(|other| other == word)));
            values.push((format!("word `{word}`"), names.iter().map(holds).collect()));
        }
        values.retain(|(_, values)| probe::varies(values));
        let targets = self.targets(0..self.ids.len());
        let probe = |(what, values): (String, Vec<f64>)| {
            self.probe(&format!("the file name's {what}"), &values, &targets)
        };
        values.into_iter().map(probe).collect()
    }

    /// The size of a row's item, beyond what [`Suspects::legible`] says of it.
    fn of_sizes(&self) -> Vec<Probe> {
        let sizes: Vec<f64> = self.items.iter().map(|item| item.bytes.len() as f64).collect();
        if !probe::varies(&sizes) {
            return Vec::new();
        }
        let legible = self.legible();
        // Of classes in the middle, a straight line leaves a bend that goes with anything:
        // classes stay numbers here.
        let rest = |truth: &Truths| -> Vec<f64> {
            let read = Linear::ridge(&legible, &truth.values, 1.0).score(&legible);
            truth.values.iter().zip(read).map(|(target, read)| target - read).collect()
        };
        let rest: Vec<Vec<f64>> = self.truths.iter().map(rest).collect();
        vec![self.probe("the size of a row's item", &sizes, &rest)]
    }

    /// Features that may depend on an item's size: the plain reading, since a graph with more
    /// edges has a longer list of them, and for compressed files also the generic reading, since
    /// they grow with the detail of the picture. One row per item.
    fn legible(&self) -> Array2<f64> {
        let compressed = self.format.is_some_and(Format::compresses);
        let row = |item: &&Item| {
            let reading = item.reading();
            let generic = if compressed { &reading.generic[..] } else { &[] };
            [&reading.plain[..], generic].concat()
        };
        from_rows(&self.items.iter().map(row).collect::<Vec<Vec<f64>>>())
    }

    /// Probes of the places of a row's links in their file, and of which end of them the row is.
    /// A row's number of links is no leak: it is a property of the node.
    fn of_links(&self) -> Vec<Probe> {
        if self.links.is_empty() {
            return Vec::new();
        }
        let rows = self.ids.len();
        let (mut counts, mut places, mut sources) =
            (vec![0.0; rows], vec![0.0; rows], vec![0.0; rows]);
        for (place, [source, target]) in self.links.iter().enumerate() {
            sources[*source] += 1.0;
            for end in [source, target] {
                counts[*end] += 1.0;
                places[*end] += place as f64;
            }
        }
        let mean = |sums: &[f64]| -> Vec<f64> {
            sums.iter().zip(&counts).map(|(sum, count)| sum / f64::max(*count, 1.0)).collect()
        };
        let targets = self.targets(0..rows);
        vec![
            self.probe("the order of a row's links", &mean(&places), &targets),
            self.probe("the direction of a row's links", &mean(&sources), &targets),
        ]
    }

    /// Probes of the number of a row's records and of their places in their file.
    fn of_records(&self) -> Vec<Probe> {
        if self.records.is_empty() {
            return Vec::new();
        }
        let rows = self.ids.len();
        let (mut counts, mut places) = (vec![0.0; rows], vec![0.0; rows]);
        for (place, row) in self.records.iter().enumerate() {
            counts[*row] += 1.0;
            places[*row] += place as f64;
        }
        for (sum, count) in places.iter_mut().zip(&counts) {
            *sum /= f64::max(*count, 1.0);
        }
        let targets = self.targets(0..rows);
        let mut probes = vec![self.probe("the order of a row's records", &places, &targets)];
        if probe::varies(&counts) {
            probes.push(self.probe("the number of a row's records", &counts, &targets));
        }
        probes
    }

    /// What probes are held against: each target as numbers, classes without an order as one
    /// flag each.
    fn targets(&self, rows: std::ops::Range<usize>) -> Vec<Vec<f64>> {
        let of = |truth: &Truths| probe::flags(truth.values[rows.clone()].to_vec(), truth.classes);
        self.truths.iter().flat_map(of).collect()
    }

    fn probe(&self, what: &str, values: &[f64], targets: &[Vec<f64>]) -> Probe {
        let finding = probe::association(self.stream.child(what), values, targets);
        Probe { what: what.to_owned(), finding }
    }
}

/// The names of rows' files without the labels in those of the `known` training rows, which come first.
/// That these are the answers is announced, and what else is in a name must not tell them.
pub(crate) fn unlabelled(
    blueprint: &Blueprint,
    mut names: Vec<String>,
    known: usize,
) -> Vec<String> {
    let labelled = if blueprint.labels_in_names() { known } else { 0 };
    for name in names.iter_mut().take(labelled) {
        *name = file_label::unlabelled(name);
    }
    names
}

/// A file's name without folders and ending.
fn stem(name: &str) -> &str {
    Utf8Path::new(name).file_stem().unwrap_or(name)
}

/// The words of a path: runs of letters, and runs of digits.
fn words(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|c: char| !c.is_alphanumeric());
    parts.flat_map(|part| {
        let digit = |c: char| c.is_ascii_digit();
        let letters = part.split(digit);
        letters.chain(part.split(move |c| !digit(c))).filter(|word| !word.is_empty())
    })
}

/// Words that several names hold, but not all of them.
fn shared_words(names: &[String]) -> Vec<&str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in names {
        for word in words(name).collect::<BTreeSet<_>>() {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut shared: Vec<(&str, usize)> =
        counts.into_iter().filter(|(_, count)| *count > 1 && *count < names.len()).collect();
    // Stable, so words that are as frequent stay in their order.
    shared.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    shared.into_iter().take(WORDS).map(|(word, _)| word).collect()
}
