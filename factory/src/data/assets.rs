//! The tables of one task, as drawn from its blueprint and streams.

use super::bonds::SHIFT;
use super::items::Item;
use super::network::Ties;
use super::records::Records;
use super::{series, tabular};
use crate::data::labels::{self, Truth};
use crate::data::mutation;
use crate::data::table;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::positions;
use crate::spec::rule::Frame;
use ndarray::Array2;
use polars::prelude::DataFrame;
use std::collections::BTreeSet;
use tasks::stream::Stream;
use tasks::values::Values;

/// The tables of one task and what only its maker knows about them.
#[derive(Debug, Clone, PartialEq)]
pub struct Assets {
    /// Ids of the training rows.
    pub train_ids: Vec<String>,
    /// Written features of the training rows, without id and target.
    pub train: DataFrame,
    /// The truth of the training rows.
    pub train_truth: Truth,
    /// Ids of the test rows.
    pub test_ids: Vec<String>,
    /// Written features of the test rows.
    pub test: DataFrame,
    /// The truth of the test rows.
    pub test_truth: Truth,
    /// The query that each training row answers, for ranking.
    pub train_queries: Vec<String>,
    /// The query that each test row answers, for ranking.
    pub test_queries: Vec<String>,
    /// The training rows' items, where rows have some.
    pub train_items: Vec<Item>,
    /// The test rows' items, where rows have some.
    pub test_items: Vec<Item>,
    /// Links between rows of the full table, in the order and direction in which they are
    /// written; none where rows are no nodes.
    pub links: Vec<[usize; 2]>,
    /// Records of rows of the full table, in a file of their own; none where rows have none.
    pub records: Option<Records>,
    /// What a generator makes of the public files, as a solver should: `[rows, 2..=8]`, in natural
    /// order; none where no generator draws the rows.
    pub transforms: Option<Array2<f64>>,
    /// Each rule's noise-free scores of the test rows: what the ceiling is made of.
    pub test_scores: Vec<Vec<f64>>,
    /// What an oracle would say of the test rows, where the truth is structured.
    pub ideal: Option<Values>,
    /// The rows of the tables, where these are sequences; ids, truth and what oracles say are then
    /// those of their positions, and items are those of the sequences.
    pub sequences: Option<Sequences>,
    /// Test rows in order of the whole table, which lags need.
    pub order: Order,
}

/// The file of the answers to the positions of training sequences.
pub const POSITIONS: &str = "train_positions.csv";

/// The sequences whose positions have answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequences {
    /// The column that names them.
    pub column: String,
    /// The column that says where in its sequence a training position is.
    pub place: String,
    /// Those of the training table, in its order.
    pub train: Vec<Sequence>,
    /// Those of the test table.
    pub test: Vec<Sequence>,
}

/// A sequence whose positions have answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Its id.
    pub id: String,
    /// How many positions it has, at least 1.
    pub positions: usize,
}

impl Sequence {
    /// The places of its positions.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        positions::FIRST..positions::FIRST + self.positions
    }
}

/// The means of numbers, of which each sequence has one per position.
pub fn means(sequences: &[Sequence], numbers: &[f64]) -> Vec<f64> {
    let mut rest = numbers;
    let mean = |one: &Sequence| {
        let (own, others) = rest.split_at(one.positions.min(rest.len()));
        rest = others;
        own.iter().sum::<f64>() / own.len().max(1) as f64
    };
    sequences.iter().map(mean).collect()
}

/// Where training and test rows come from in the full table, whose rows are in natural order
/// (for series: series by series, step by step).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Full-table rows of the training rows, in written order.
    pub train: Vec<usize>,
    /// Full-table rows of the test rows, in written order.
    pub test: Vec<usize>,
}

/// All rows in natural order: clean columns, the same as they are written, and which rows are
/// trained and tested on.
pub type Rows = (Frame, DataFrame, Order);

/// What rows have in addition to their columns.
#[derive(Debug, Default)]
pub struct Attachments {
    /// An item per row, in natural order; empty where rows have none.
    pub items: Vec<Item>,
    /// The query that each row answers, in natural order; empty where rows answer none.
    pub queries: Vec<String>,
    /// Links between rows, by place in natural order; empty where rows have none.
    pub links: Vec<[usize; 2]>,
}

/// Draws the truth of rows from the rules of their targets, mutates what is written, names the
/// rows and splits them.
pub fn labelled(
    blueprint: &Blueprint,
    rows: Rows,
    attachments: Attachments,
    stream: Stream,
) -> Assets {
    let scores: Vec<Vec<f64>> = blueprint.rules().map(|rule| rule.score(&rows.0)).collect();
    scored(blueprint, rows, &scores, attachments, stream)
}

/// The scores that the truth is drawn from: those of the rules, and what groups add to them.
fn shifted(blueprint: &Blueprint, frame: &Frame, scores: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut shifted = scores.to_vec();
    // Groups move the middle of a target, whose score comes first, and leave its spread.
    let spreads = blueprint.targets.iter().filter(|target| target.spread.is_some()).count();
    let moved = scores.len() - spreads;
    for score in &mut shifted[..moved] {
        let shifts = frame.numbers.get(SHIFT).into_iter().flatten();
        score.iter_mut().zip(shifts).for_each(|(score, shift)| *score += shift);
    }
    shifted
}

/// The same of rows with these noise-free scores, one vector per rule.
pub fn scored(
    blueprint: &Blueprint,
    rows: Rows,
    scores: &[Vec<f64>],
    attachments: Attachments,
    stream: Stream,
) -> Assets {
    let (frame, mut written, order) = rows;
    let Attachments { mut items, queries, links } = attachments;
    let truth =
        labels::draw(blueprint, &shifted(blueprint, &frame, scores), stream.child("labels"));
    for (index, mutation) in blueprint.mutations.iter().enumerate() {
        let stream = stream.child("mutation").index(index as u64);
        mutation.apply(&mut written, &blueprint.numbers, stream);
    }
    let mut train = table::take(&written, &order.train);
    let mut train_truth = truth.take(&order.train);
    // Which row has the same records as each.
    let mut like: Vec<usize> = (0..frame.rows).collect();
    if let Some((share, contradicting)) = blueprint.near_duplicates() {
        let stream = stream.child("repeats");
        let repeated = mutation::repeat(&mut train, &blueprint.numbers, share, stream);
        let mut draws = Draws::new(stream.child("truth"));
        let mut from: Vec<usize> = (0..train_truth.len()).collect();
        for (copy, source) in repeated {
            like[order.train[copy]] = order.train[source];
            if !draws.chance(contradicting) {
                from[copy] = source;
            }
        }
        train_truth = train_truth.take(&from);
    }
    let records = blueprint.structure.records.as_ref().and_then(|spec| {
        let column = blueprint.numbers.iter().find(|column| column.name == spec.of)?;
        let values = frame.numbers.get(&spec.of)?;
        Some(Records::draw(spec, column, values, &like, stream))
    });
    let ids = ids(frame.rows, &mut Draws::new(stream.child("ids")));
    let take = |names: &[String], rows: &[usize]| -> Vec<String> {
        rows.iter().filter_map(|row| names.get(*row).cloned()).collect()
    };
    // Rows with items are exchangeable, so training rows come first in the full table.
    let test_items = items.split_off(items.len().min(order.train.len()));
    Assets {
        train_ids: take(&ids, &order.train),
        train,
        train_truth,
        test_ids: take(&ids, &order.test),
        test: table::take(&written, &order.test),
        test_truth: truth.take(&order.test),
        train_queries: take(&queries, &order.train),
        test_queries: take(&queries, &order.test),
        train_items: items,
        test_items,
        links,
        records,
        transforms: None,
        test_scores: scores
            .iter()
            .map(|score| order.test.iter().map(|row| score[*row]).collect())
            .collect(),
        ideal: None,
        sequences: None,
        order,
    }
}

/// The assets of rows whose truth is structured: an item for each and no other columns, the
/// training rows first.
pub fn structured(
    blueprint: &Blueprint,
    mut items: Vec<Item>,
    truth: &Values,
    ideal: &Values,
    stream: Stream,
) -> Assets {
    let (train, rows) = (blueprint.rows.train, blueprint.rows.train + blueprint.rows.test);
    let order = Order { train: (0..train).collect(), test: (train..rows).collect() };
    let ids = ids(rows, &mut Draws::new(stream.child("ids")));
    let test_items = items.split_off(train);
    Assets {
        train_ids: ids[..train].to_vec(),
        train: DataFrame::empty(),
        train_truth: Truth::Structured(truth.take(&order.train)),
        test_ids: ids[train..].to_vec(),
        test: DataFrame::empty(),
        test_truth: Truth::Structured(truth.take(&order.test)),
        train_queries: Vec::new(),
        test_queries: Vec::new(),
        train_items: items,
        test_items,
        links: Vec::new(),
        records: None,
        transforms: None,
        test_scores: Vec::new(),
        ideal: Some(ideal.take(&order.test)),
        sequences: None,
        order,
    }
}

/// The assets of sequences, an item each, whose positions have answers: `lengths` says how many, the
/// training sequences first. `names` are those of the column of sequences and of the column of places;
/// truth and ideal have an entry for each position of each sequence.
pub fn of_sequences(
    blueprint: &Blueprint,
    mut items: Vec<Item>,
    lengths: &[usize],
    names: [String; 2],
    truth: &Truth,
    ideal: &Values,
    stream: Stream,
) -> Assets {
    let ids = ids(lengths.len(), &mut Draws::new(stream.child("ids")));
    let sequence = |(id, positions): (String, &usize)| Sequence { id, positions: *positions };
    let mut train: Vec<Sequence> = ids.into_iter().zip(lengths).map(sequence).collect();
    let test = train.split_off(blueprint.rows.train);
    let test_items = items.split_off(blueprint.rows.train);
    let ids = |side: &[Sequence]| -> Vec<String> {
        let of = |one: &Sequence| -> Vec<String> {
            one.places().map(|at| format!("{}_{at}", one.id)).collect()
        };
        side.iter().flat_map(of).collect()
    };
    let (train_ids, test_ids) = (ids(&train), ids(&test));
    let known = train_ids.len();
    let order =
        Order { train: (0..known).collect(), test: (known..known + test_ids.len()).collect() };
    let [column, place] = names;
    Assets {
        train_ids,
        train: DataFrame::empty(),
        train_truth: truth.take(&order.train),
        test_ids,
        test: DataFrame::empty(),
        test_truth: truth.take(&order.test),
        train_queries: Vec::new(),
        test_queries: Vec::new(),
        train_items: items,
        test_items,
        links: Vec::new(),
        records: None,
        transforms: None,
        test_scores: Vec::new(),
        ideal: Some(ideal.take(&order.test)),
        sequences: Some(Sequences { column, place, train, test }),
        order,
    }
}

impl Assets {
    /// Number of rows of the training and of the test table.
    pub fn rows(&self) -> [usize; 2] {
        match &self.sequences {
            Some(sequences) => [sequences.train.len(), sequences.test.len()],
            None => [self.train_ids.len(), self.test_ids.len()],
        }
    }

    /// The items of all rows, those for training first; empty where rows have none.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.train_items.iter().chain(&self.test_items)
    }

    /// All ids in natural order.
    pub fn names(&self) -> Vec<&str> {
        let mut names = vec![""; self.train_ids.len() + self.test_ids.len()];
        let train = self.order.train.iter().zip(&self.train_ids);
        for (row, id) in train.chain(self.order.test.iter().zip(&self.test_ids)) {
            names[*row] = id;
        }
        names
    }

    /// All written features in natural order, so that lags reach from test into training rows.
    ///
    /// # Panics
    /// If the two tables have different columns.
    pub fn whole(&self) -> DataFrame {
        let rows = self.order.train.len() + self.order.test.len();
        let mut position = vec![0; rows];
        for (at, row) in self.order.train.iter().chain(&self.order.test).enumerate() {
            position[*row] = at;
        }
        let whole = self.train.vstack(&self.test).expect("both tables are parts of one");
        table::take(&whole, &position)
    }
}

/// Distinct five-digit ids in random order: they say nothing about the row.
pub(crate) fn ids(rows: usize, draws: &mut Draws) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut ids = Vec::with_capacity(rows);
    while ids.len() < rows {
        let id = draws.whole(10_000, 99_999);
        if seen.insert(id) {
            ids.push(id.to_string());
        }
    }
    ids
}

/// A large clean sample from a blueprint's columns, on which rules are balanced.
pub fn population(blueprint: &Blueprint, rows: usize) -> Frame {
    let stream = blueprint.origin.stream("population");
    match blueprint.series() {
        Some(spec) => {
            // As many steps as the task has, over and over again.
            let mut wide = Frame { block: blueprint.block(), ..Frame::default() };
            let mut copy = 0;
            while wide.rows < rows {
                let (frame, _, _) = series::draw(blueprint, spec, stream.index(copy));
                copy += 1;
                wide.rows += frame.rows;
                for (name, values) in frame.numbers {
                    wide.numbers.entry(name).or_default().extend(values);
                }
                for (name, values) in frame.words {
                    wide.words.entry(name).or_default().extend(values);
                }
            }
            wide
        }
        None => tabular::sample(blueprint, rows, ties(blueprint, rows, stream).as_ref(), stream),
    }
}

/// The network that joins so many rows, where rows are nodes.
fn ties(blueprint: &Blueprint, rows: usize, stream: Stream) -> Option<Ties> {
    blueprint.network().map(|layout| Ties::draw(layout, rows, stream))
}
