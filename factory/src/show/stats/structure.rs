//! The structure of tasks, measured on their public tables alone: what a seed's traits leave behind.

use crate::data::table;
use crate::numeric::intervals::Quantiles;
use crate::numeric::linear::Linear;
use crate::numeric::matrix::from_columns;
use crate::numeric::moments::{median, moments};
use polars::prelude::DataFrame;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tasks::prediction::Prediction;

/// Words of a column up to which they are indicators.
const WORDS: usize = 12;
/// Distance to the nearest training row, as a share of the typical one, below which a row almost
/// repeats another.
const NEAR: f64 = 0.25;
/// Folds of a cross-validation.
const FOLDS: usize = 5;

/// The public tables of one task, as text.
#[derive(Debug, Clone)]
pub struct PublicTables<'a> {
    /// `train.csv`.
    pub train: &'a DataFrame,
    /// `test.csv`.
    pub test: &'a DataFrame,
    /// Name of the id column.
    pub id: &'a str,
    /// What a submission holds.
    pub prediction: &'a Prediction,
    /// Tables in further files.
    pub others: &'a [DataFrame],
}

impl PublicTables<'_> {
    /// Lines of further tables with the column of ids, for each row.
    fn records(&self) -> f64 {
        let named = self.others.iter().filter(|other| other.column(self.id).is_ok());
        let lines: usize = named.map(DataFrame::height).sum();
        lines as f64 / (self.train.height() + self.test.height()).max(1) as f64
    }
}

/// What the public tables of a task show of its structure. What a task has not is 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskStructure {
    /// Training rows.
    pub rows: f64,
    /// Columns beside id and targets.
    pub columns: f64,
    /// Classes of the target, if it is one of several.
    pub classes: f64,
    /// Training rows of the most frequent class by those of the rarest.
    pub head_to_tail: f64,
    /// Training rows per class, in the median.
    pub rows_per_class: f64,
    /// Whether classes are whole numbers in a row: 1 if they are.
    pub ordered: f64,
    /// Share of training rows that are positive, in the mean over labels.
    pub positive: f64,
    /// Groups of training rows of which test rows have none.
    pub groups: f64,
    /// Columns that follow from a row's group.
    pub nested: f64,
    /// Whether all test rows are later than the training rows: 1 if they are.
    pub later: f64,
    /// Largest difference of means between test and training rows, in standard deviations.
    pub drift: f64,
    /// Largest share of zeros in a column.
    pub zeros: f64,
    /// Share of training rows that almost repeat another.
    pub repeated: f64,
    /// Share of number cells that are empty or hold a sentinel.
    pub missing: f64,
    /// Largest correlation of two columns, without its sign.
    pub correlation: f64,
    /// Largest by smallest standard deviation of number columns, as a power of ten.
    pub scales: f64,
    /// Standard deviation of the lengths of lists, by their mean.
    pub lengths: f64,
    /// Lines of further tables for each row, where those name rows.
    #[serde(default)]
    pub records: f64,
    /// Share of the target's variance that a straight line explains on rows that it has not seen.
    pub explained: f64,
    /// What products of columns add to that.
    pub together: f64,
}

impl TaskStructure {
    /// Measures the tables.
    pub fn of(tables: &PublicTables<'_>) -> Self {
        let columns = Columns::of(tables);
        let targets = targets(tables);
        let mut found = Self {
            rows: tables.train.height() as f64,
            columns: (columns.numbers.len() + columns.words.len() + columns.lists.len()) as f64,
            drift: columns.drift(),
            zeros: columns.share(|value| value == 0.0),
            repeated: columns.repeated(),
            missing: columns.missing(),
            correlation: columns.correlation(),
            scales: columns.scales(),
            lengths: columns.lengths(),
            records: tables.records(),
            ..Self::default()
        };
        match &targets {
            Targets::Classes(rows) => found.classes(rows),
            Targets::Flags(flags) => {
                let share = |flags: &Vec<f64>| flags.iter().sum::<f64>() / flags.len() as f64;
                found.positive = flags.iter().map(share).sum::<f64>() / flags.len().max(1) as f64;
            }
            Targets::Numbers(_) => {}
        }
        columns.groups(&mut found);
        let wanted = targets.as_numbers();
        let plain = columns.inputs(false);
        found.explained = explained(&plain, &wanted);
        found.together = explained(&columns.inputs(true), &wanted) - found.explained;
        found
    }

    fn classes(&mut self, rows: &[String]) {
        let mut counts: BTreeMap<&str, f64> = BTreeMap::new();
        for class in rows {
            *counts.entry(class).or_default() += 1.0;
        }
        let sizes: Vec<f64> = counts.values().copied().collect();
        let most = sizes.iter().copied().fold(0.0, f64::max);
        self.classes = sizes.len() as f64;
        self.head_to_tail = most / sizes.iter().copied().fold(most, f64::min).max(1.0);
        self.rows_per_class = median(&sizes);
        let whole: BTreeSet<usize> = counts.keys().filter_map(|class| class.parse().ok()).collect();
        let span = whole.last().zip(whole.first()).map_or(0, |(last, first)| last - first + 1);
        let in_a_row = whole.len() == sizes.len() && span == sizes.len() && sizes.len() > 2;
        self.ordered = f64::from(u8::from(in_a_row));
    }
}

/// What is predicted, as the training table has it.
enum Targets {
    Classes(Vec<String>),
    Flags(Vec<Vec<f64>>),
    Numbers(Vec<Vec<f64>>),
}

impl Targets {
    /// Columns of numbers: a flag per class that has at least a twentieth of the rows.
    fn as_numbers(&self) -> Vec<Vec<f64>> {
        match self {
            Self::Numbers(columns) | Self::Flags(columns) => columns.clone(),
            Self::Classes(rows) => {
                let classes: BTreeSet<&String> = rows.iter().collect();
                let flag = |class: &String| -> Vec<f64> {
                    rows.iter().map(|row| f64::from(u8::from(row == class))).collect()
                };
                let flags = classes.into_iter().map(flag);
                flags.filter(|f| f.iter().sum::<f64>() * 20.0 >= rows.len() as f64).collect()
            }
        }
    }
}

fn texts(table: &DataFrame, name: &str) -> Vec<String> {
    match table::cells(table, name) {
        Some(table::Cells::Text(values)) => values.into_iter().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// The numbers of a column; NaN where it is empty or holds a sentinel, `None` if it holds words.
fn parsed(texts: &[String]) -> Option<Vec<f64>> {
    let value = |text: &String| match text.as_str() {
        "" | "-999" | "-999.0" => Some(f64::NAN),
        text => text.parse().ok(),
    };
    texts.iter().map(value).collect()
}

fn target_columns(prediction: &Prediction) -> Vec<String> {
    match prediction {
        Prediction::ClassProbabilities { column, .. } | Prediction::Flags { column, .. } => {
            vec![column.clone()]
        }
        other => other.columns().into_iter().map(str::to_owned).collect(),
    }
}

fn targets(tables: &PublicTables<'_>) -> Targets {
    let columns = target_columns(tables.prediction);
    // Positions of sequences have their answers in another table, which no row is measured by.
    if columns.iter().all(|name| tables.train.column(name).is_err()) {
        return Targets::Numbers(Vec::new());
    }
    let cells: Vec<Vec<String>> = columns.iter().map(|name| texts(tables.train, name)).collect();
    let numbers = || cells.iter().filter_map(|cells| parsed(cells)).collect();
    match tables.prediction {
        Prediction::Flags { labels, .. } => {
            let flag = |label: &String| {
                let held = |cell: &String| cell.split(' ').any(|held| held == label);
                cells[0].iter().map(|cell| f64::from(u8::from(held(cell)))).collect()
            };
            Targets::Flags(labels.iter().map(flag).collect())
        }
        Prediction::Label { classes, .. } if classes.len() == 2 => Targets::Flags(numbers()),
        Prediction::Probability { .. } | Prediction::Probabilities { .. } => {
            Targets::Flags(numbers())
        }
        Prediction::Label { .. } | Prediction::ClassProbabilities { .. } => {
            Targets::Classes(cells.into_iter().next().unwrap_or_default())
        }
        _ => Targets::Numbers(numbers()),
    }
}

/// The features of both tables by kind.
struct Columns {
    rows: usize,
    numbers: Vec<[Vec<f64>; 2]>,
    words: Vec<[Vec<String>; 2]>,
    lists: Vec<[Vec<String>; 2]>,
}

impl Columns {
    fn of(tables: &PublicTables<'_>) -> Self {
        let targets = target_columns(tables.prediction);
        let mut columns = Self {
            rows: tables.train.height(),
            numbers: Vec::new(),
            words: Vec::new(),
            lists: Vec::new(),
        };
        for name in tables.train.get_column_names() {
            let name = name.as_str();
            if name == tables.id || targets.iter().any(|target| target == name) {
                continue;
            }
            let both = [texts(tables.train, name), texts(tables.test, name)];
            if let (Some(train), Some(test)) = (parsed(&both[0]), parsed(&both[1])) {
                columns.numbers.push([train, test]);
            } else if both[0].iter().all(|cell| parsed(&split(cell)).is_some()) {
                columns.lists.push(both);
            } else {
                columns.words.push(both);
            }
        }
        columns
    }

    fn drift(&self) -> f64 {
        let gap = |[train, test]: &[Vec<f64>; 2]| {
            let ((mean, spread), (other, _)) = (moments(&known(train)), moments(&known(test)));
            if spread > 0.0 { (other - mean).abs() / spread } else { 0.0 }
        };
        self.numbers.iter().map(gap).fold(0.0, f64::max)
    }

    fn share(&self, suits: fn(f64) -> bool) -> f64 {
        let share = |[train, _]: &[Vec<f64>; 2]| {
            train.iter().filter(|value| suits(**value)).count() as f64 / train.len() as f64
        };
        self.numbers.iter().map(share).fold(0.0, f64::max)
    }

    fn missing(&self) -> f64 {
        let share = |[train, _]: &[Vec<f64>; 2]| {
            train.iter().filter(|value| value.is_nan()).count() as f64 / train.len() as f64
        };
        self.numbers.iter().map(share).sum::<f64>() / self.numbers.len().max(1) as f64
    }

    /// Number columns of the training rows, standardised, gaps in the middle.
    fn standard(&self) -> Vec<Vec<f64>> {
        let one = |[train, _]: &[Vec<f64>; 2]| {
            let (mean, spread) = moments(&known(train));
            let at =
                |value: &f64| if value.is_nan() { 0.0 } else { (value - mean) / spread.max(1e-12) };
            train.iter().map(at).collect()
        };
        self.numbers.iter().map(one).collect()
    }

    fn correlation(&self) -> f64 {
        let columns = self.standard();
        let mut most: f64 = 0.0;
        for (index, one) in columns.iter().enumerate() {
            for other in &columns[..index] {
                let sum: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
                most = most.max((sum / self.rows as f64).abs());
            }
        }
        most
    }

    fn scales(&self) -> f64 {
        let spread = |[train, _]: &[Vec<f64>; 2]| moments(&known(train)).1;
        let spreads: Vec<f64> = self.numbers.iter().map(spread).filter(|s| *s > 0.0).collect();
        let most = spreads.iter().copied().fold(0.0, f64::max);
        let least = spreads.iter().copied().fold(most, f64::min);
        if least > 0.0 { libm::log10(most / least) } else { 0.0 }
    }

    fn lengths(&self) -> f64 {
        let spread = |[train, _]: &[Vec<String>; 2]| {
            let lengths: Vec<f64> = train.iter().map(|cell| split(cell).len() as f64).collect();
            let (mean, spread) = moments(&lengths);
            spread / mean.max(1e-9)
        };
        self.lists.iter().map(spread).fold(0.0, f64::max)
    }

    fn repeated(&self) -> f64 {
        let columns = self.standard();
        let distance = |one: usize, other: usize| {
            columns.iter().map(|c| (c[one] - c[other]) * (c[one] - c[other])).sum::<f64>()
        };
        let nearest = |row: usize| {
            let others = (0..self.rows).filter(|other| *other != row);
            others.map(|other| distance(row, other)).fold(f64::INFINITY, f64::min).sqrt()
        };
        // A single column of numbers repeats itself where rows do not.
        if columns.len() < 2 {
            return 0.0;
        }
        let nearest: Vec<f64> = (0..self.rows).map(nearest).collect();
        let near = NEAR * median(&nearest);
        nearest.iter().filter(|distance| **distance < near).count() as f64 / self.rows as f64
    }

    fn groups(&self, found: &mut TaskStructure) {
        for [train, test] in &self.words {
            let (known, tested): (BTreeSet<&String>, BTreeSet<&String>) =
                (train.iter().collect(), test.iter().collect());
            if known.iter().chain(&tested).all(|word| is_date(word)) {
                found.later = f64::from(u8::from(known.last() < tested.first()));
                continue;
            }
            if !known.is_disjoint(&tested) || known.len() * 2 > train.len() {
                continue;
            }
            found.groups = found.groups.max(known.len() as f64);
            let follows = |[other, _]: &&[Vec<String>; 2]| {
                let pairs: BTreeSet<(&String, &String)> = train.iter().zip(other).collect();
                let values: BTreeSet<&String> = other.iter().collect();
                pairs.len() == known.len() && values.len() < known.len()
            };
            found.nested = self.words.iter().filter(follows).count() as f64;
        }
    }

    /// Inputs of a straight line, with products of number columns or without.
    fn inputs(&self, products: bool) -> Vec<Vec<f64>> {
        let mut inputs = self.standard();
        let count = inputs.len().min(WORDS);
        if products {
            for one in 0..count {
                for other in 0..=one {
                    let product = inputs[one].iter().zip(&inputs[other]).map(|(a, b)| a * b);
                    inputs.push(product.collect());
                }
            }
        }
        for [train, _] in &self.words {
            let known: BTreeSet<&String> = train.iter().collect();
            if known.len() <= WORDS {
                for word in known {
                    inputs.push(train.iter().map(|w| f64::from(u8::from(w == word))).collect());
                }
            }
        }
        inputs
    }
}

fn split(cell: &str) -> Vec<String> {
    cell.split(' ').map(str::to_owned).collect()
}

fn known(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|value| !value.is_nan()).collect()
}

fn is_date(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let whole = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 3 && parts.iter().all(whole)
}

/// Share of the targets' variance that ridge regression explains by cross-validation, in the mean
/// over the targets; not below 0.
fn explained(inputs: &[Vec<f64>], targets: &[Vec<f64>]) -> f64 {
    let rows = targets.first().map_or(0, Vec::len);
    if inputs.is_empty() || rows < 2 * FOLDS {
        return 0.0;
    }
    let all: Vec<usize> = (0..rows).collect();
    let taken = |rows: &[usize]| {
        let columns: Vec<Vec<f64>> =
            inputs.iter().map(|column| rows.iter().map(|row| column[*row]).collect()).collect();
        from_columns(rows.len(), &columns)
    };
    let share = |target: &Vec<f64>| {
        let mut errors = 0.0;
        for fold in 0..FOLDS {
            let (out, left): (Vec<usize>, Vec<usize>) =
                all.iter().partition(|r| **r % FOLDS == fold);
            let y: Vec<f64> = left.iter().map(|row| target[*row]).collect();
            let guesses = Linear::ridge(&taken(&left), &y, 10.0).score(&taken(&out));
            let gaps = out.iter().zip(guesses).map(|(row, guess)| target[*row] - guess);
            errors += gaps.map(|gap| gap * gap).sum::<f64>();
        }
        let (_, spread) = moments(target);
        if spread > 0.0 { (1.0 - errors / (rows as f64 * spread * spread)).max(0.0) } else { 0.0 }
    };
    targets.iter().map(share).sum::<f64>() / targets.len().max(1) as f64
}

/// One line of the table of structures: a statistic over the tasks that have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructureRow {
    /// What is measured.
    pub statistic: String,
    /// Tasks that have it.
    pub tasks: usize,
    /// Its quantiles over these tasks.
    pub quantiles: Option<Quantiles>,
}

/// The table of structures of a corpus.
pub fn rows(tasks: &[TaskStructure]) -> Vec<StructureRow> {
    type Read = fn(&TaskStructure) -> f64;
    let statistics: [(&str, Read); 12] = [
        ("classes", |task| task.classes),
        ("head to tail", |task| task.head_to_tail),
        ("rows per class", |task| task.rows_per_class),
        ("positive share", |task| task.positive),
        ("groups", |task| task.groups),
        ("nested columns", |task| task.nested),
        ("later test rows", |task| task.later),
        ("drift in sd", |task| task.drift),
        ("share of zeros", |task| task.zeros),
        ("repeated rows", |task| task.repeated),
        ("spread of list lengths", |task| task.lengths),
        ("records per row", |task| task.records),
    ];
    let row = |(statistic, read): (&str, Read)| {
        let values: Vec<f64> = tasks.iter().map(read).filter(|value| *value > 0.0).collect();
        let (tasks, quantiles) = (values.len(), Quantiles::of(values));
        StructureRow { statistic: statistic.to_owned(), tasks, quantiles }
    };
    statistics.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn read(text: &str) -> DataFrame {
        table::read_csv(text.as_bytes()).unwrap()
    }

    #[test]
    fn structures_are_read_off_the_tables() {
        let mut train = String::from("id,site,area,day,load,list,kind\n");
        for row in 0..12_u32 {
            let (site, area) = (row % 4, row % 2);
            let kind = if row < 8 {
                "b"
            } else if row < 11 {
                "a"
            } else {
                "c"
            };
            let load = if row % 3 == 0 { "0".to_owned() } else { format!("{row}.5") };
            let list = ["1 2", "1 2 3", "4"][row as usize % 3];
            let day = 10 + row / 3;
            let _ = writeln!(train, "{row},S{site},A{area},2020-01-{day},{load},{list},{kind}");
        }
        let test = "id,site,area,day,load,list\n90,S8,A0,2020-02-01,30.5,2 2\n91,S8,A1,2020-02-02,40.5,1\n";
        let prediction = Prediction::Label {
            column: "kind".to_owned(),
            classes: ["a", "b", "c"].map(str::to_owned).into(),
        };
        let (train, test) = (read(&train), read(test));
        let mut records = String::from("id,value\n");
        for line in 0..28 {
            let _ = writeln!(records, "{},3.5", line % 14);
        }
        let others = [read(&records), read("site,value\nS1,2.5\n")];
        let tables = PublicTables {
            train: &train,
            test: &test,
            id: "id",
            prediction: &prediction,
            others: &others,
        };
        let found = TaskStructure::of(&tables);
        assert_eq!((found.rows, found.columns), (12.0, 5.0));
        assert_eq!((found.classes, found.head_to_tail, found.rows_per_class), (3.0, 8.0, 3.0));
        assert_eq!((found.groups, found.nested, found.later), (4.0, 1.0, 1.0));
        assert!((found.zeros - 1.0 / 3.0).abs() < 1e-12 && found.drift > 3.0, "{found:?}");
        assert_eq!(found.records, 2.0);
        assert!(found.lengths > 0.3 && found.missing == 0.0, "{found:?}");
        let of_groups = &rows(&[found])[4];
        assert_eq!((of_groups.statistic.as_str(), of_groups.tasks), ("groups", 1));
    }
}
