//! Which rows are for training and which for testing, and under which ids.

use super::catalogue::{AnchorSpec, Dividing};
use super::extract::RawData;
use crate::numeric::draws::Draws;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tasks::stream::Stream;

/// Most rows of `test.csv`.
pub(super) const MOST_TEST: usize = 1_500;
/// Fewest rows of `test.csv`.
const FEWEST_TEST: usize = 40;
/// Hexadecimal digits of an id.
const DIGITS: usize = 8;

/// The rows of the two tables, by their place in the raw data, in the order of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Division {
    pub(super) train: Vec<usize>,
    pub(super) test: Vec<usize>,
    /// One id per row of `train`.
    pub(super) train_ids: Vec<String>,
    /// One id per row of `test`.
    pub(super) test_ids: Vec<String>,
}

/// Divides the rows of a data set, each kind of row once.
///
/// # Errors
/// In words, if the data does not suffice.
pub(super) fn divide(
    spec: &AnchorSpec,
    data: &RawData,
    stream: Stream,
) -> Result<Division, String> {
    let mut rows = distinct(spec, data);
    let mut draws = Draws::new(stream.child("split"));
    draws.shuffle(&mut rows);
    let (mut train, mut test) = match spec.split {
        Dividing::Random => {
            let rest = rows.split_off(spec.train.min(rows.len()));
            (rows, rest)
        }
        Dividing::Groups => {
            by_groups(&rows, data.groups.as_ref().ok_or("it has no groups")?, spec.train)
        }
        Dividing::Time => by_time(rows, data.times.as_ref().ok_or("it has no times")?, spec.train),
    };
    test.truncate(MOST_TEST);
    if test.len() < FEWEST_TEST {
        return Err(format!("only {} rows are left for testing", test.len()));
    }
    for target in spec.targets.iter().filter(|_| !spec.is_numeric()) {
        let cells = data.column(target);
        let of =
            |rows: &[usize]| rows.iter().map(|row| cells[*row].as_str()).collect::<BTreeSet<_>>();
        let (known, asked) = (of(&train), of(&test));
        if known.len() < 2 || known != asked {
            return Err(format!("`{target}` has other classes in training than in testing"));
        }
    }
    // Rows of a group or of a time must not lie side by side.
    draws.shuffle(&mut train);
    draws.shuffle(&mut test);
    let mut ids = opaque(train.len() + test.len(), &mut Draws::new(stream.child("ids")));
    let test_ids = ids.split_off(train.len());
    Ok(Division { train, test, train_ids: ids, test_ids })
}

/// The first of all rows with the same features, in the order of the data.
fn distinct(spec: &AnchorSpec, data: &RawData) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    let key = |row: usize| -> Vec<u8> {
        let mut key = Vec::new();
        for (_, cells) in data.features(spec) {
            key.extend_from_slice(cells[row].as_bytes());
            key.push(0);
        }
        key.extend(data.pictures.iter().flat_map(|pictures| pictures.bytes(row)));
        key
    };
    (0..data.rows()).filter(|row| seen.insert(key(*row))).collect()
}

/// Whole groups, in the order of their first rows, until there are `count` rows for training.
fn by_groups(rows: &[usize], groups: &[String], count: usize) -> (Vec<usize>, Vec<usize>) {
    let mut order: Vec<&str> = Vec::new();
    for row in rows {
        if !order.contains(&groups[*row].as_str()) {
            order.push(&groups[*row]);
        }
    }
    let (mut train, mut test) = (Vec::new(), Vec::new());
    for group in order {
        let half = if train.len() < count { &mut train } else { &mut test };
        half.extend(rows.iter().copied().filter(|row| groups[*row] == group));
    }
    (train, test)
}

/// The earliest rows, at most `count` of them and no time in part, and the others as they follow.
fn by_time(mut rows: Vec<usize>, times: &[f64], count: usize) -> (Vec<usize>, Vec<usize>) {
    rows.sort_by(|a, b| times[*a].total_cmp(&times[*b]));
    let Some(first_left) = rows.get(count).map(|row| times[*row]) else {
        return (rows, Vec::new());
    };
    let border = rows.iter().take_while(|row| times[**row] < first_left).count();
    let rest = rows.split_off(border);
    (rows, rest)
}

/// Different ids that say nothing.
fn opaque(count: usize, draws: &mut Draws) -> Vec<String> {
    let (mut ids, mut seen) = (Vec::with_capacity(count), BTreeSet::new());
    while ids.len() < count {
        let mut id = String::with_capacity(DIGITS);
        for place in 0..DIGITS {
            // An id that begins with a letter is never read as a number.
            let digit = draws.whole(if place == 0 { 10 } else { 0 }, 15);
            let _ = write!(id, "{digit:x}");
        }
        if seen.insert(id.clone()) {
            ids.push(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::*;
    use std::collections::BTreeMap;

    fn data(rows: usize, value: impl Fn(usize) -> String) -> RawData {
        RawData {
            packages: BTreeMap::new(),
            columns: vec![
                ("x".to_owned(), (0..rows).map(value).collect()),
                ("y".to_owned(), (0..rows).map(|row| (row % 2).to_string()).collect()),
            ],
            groups: Some((0..rows).map(|row| format!("g{}", row / 5)).collect()),
            times: Some((0..rows).map(|row| (row / 3) as f64).collect()),
            pictures: None,
        }
    }

    fn spec(split: Dividing, train: usize) -> AnchorSpec {
        let mut spec = catalogue::specs()[0].clone();
        (spec.targets, spec.split, spec.train) = (vec!["y".to_owned()], split, train);
        spec
    }

    #[test]
    fn duplicates_are_left_out_and_no_row_is_in_both_tables() {
        let data = data(400, |row| (row / 2).to_string());
        let found = divide(&spec(Dividing::Random, 100), &data, Stream::root(0));
        // Rows that differ in the answer alone are duplicates, too; the first has class 0.
        assert!(found.unwrap_err().contains("other classes"));
        let data = self::data(400, |row| (row / 4 * 2 + row % 2).to_string());
        let found = divide(&spec(Dividing::Random, 100), &data, Stream::root(0)).unwrap();
        assert_eq!((found.train.len(), found.test.len()), (100, 100));
        let values: BTreeSet<&str> = [&found.train, &found.test]
            .into_iter()
            .flatten()
            .map(|row| data.columns[0].1[*row].as_str())
            .collect();
        assert_eq!(values.len(), 200);
        let ids: BTreeSet<&String> = found.train_ids.iter().chain(&found.test_ids).collect();
        assert_eq!(ids.len(), 200);
    }

    #[test]
    fn groups_stay_together_and_times_are_not_cut() {
        let data = data(400, |row| row.to_string());
        let groups = data.groups.clone().unwrap();
        let found = divide(&spec(Dividing::Groups, 101), &data, Stream::root(1)).unwrap();
        let of = |rows: &[usize]| rows.iter().map(|row| &groups[*row]).collect::<BTreeSet<_>>();
        assert!(of(&found.train).is_disjoint(&of(&found.test)));
        assert_eq!(found.train.len(), 105);

        let times = data.times.clone().unwrap();
        let found = divide(&spec(Dividing::Time, 101), &data, Stream::root(1)).unwrap();
        assert_eq!(found.train.len(), 99);
        let last = found.train.iter().map(|row| times[*row]).fold(f64::MIN, f64::max);
        assert!(found.test.iter().all(|row| times[*row] > last));
        assert!(!found.train.is_sorted(), "the order of rows says nothing of time");
    }

    #[test]
    fn seed_decides_the_division() {
        let data = data(400, |row| row.to_string());
        let spec = spec(Dividing::Random, 100);
        let divide = |seed| divide(&spec, &data, Stream::root(seed)).unwrap();
        assert_eq!(divide(3), divide(3));
        assert_ne!(divide(3), divide(4));
    }
}
