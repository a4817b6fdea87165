//! What retrieval promises: rungs in order, a rule that can be found, and Python that ranks as well.

use super::*;
use crate::challenges::python;
use crate::challenges::trial::{self, Trial, answers};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::Formulation;
use tasks::values;

const ROWS: RowCounts = RowCounts { train: 180, test: 360 };
const SEEDS: u64 = 24;

fn drawn(seed: u64, slips: f64) -> (Retrieval, Vec<DrawnRow>) {
    let mut draws = Draws::new(Stream::root(seed));
    let rule =
        Retrieval::plan(draws.pick::<Vec<_>>(&trial::columns(Formulation::Retrieval)), &mut draws);
    let strengths = Strengths::from([(SLIPS.name.to_owned(), slips)]);
    let wording = Wording { subjects: Vec::new(), settings: Vec::new() };
    let rows = rule.draw(&wording, &strengths, ROWS, &mut draws);
    (rule, rows)
}

#[test]
fn rungs_rise_and_the_rule_is_found() {
    let mut means = [0.0; 5];
    for seed in 0..SEEDS {
        let (rule, rows) = drawn(seed, 0.03);
        let Trial { train, known, scores } = Trial::new(&rule, Metric::MapAt5, &rows, ROWS.train);
        println!("{seed}: {scores:.3?} {:?}", rule.parts());
        assert!(scores.is_sorted(), "{rule}: {scores:?}");
        means.iter_mut().zip(scores).for_each(|(mean, score)| *mean += score / SEEDS as f64);
        let Values::Ids(names) = &known else { panic!() };
        let names: Vec<&str> = names.iter().map(|ids| ids[0].as_str()).collect();
        let train: Vec<Measured> = train.iter().map(|row| rule.measured(row).unwrap()).collect();
        let found = Cleaning::new(&rule, &train, &names);
        let gains: Vec<i8> = rule.words.iter().map(|one| one.gain).collect();
        assert_eq!((found.shape, found.gains.to_vec()), (rule.shape, gains), "seed {seed}");
    }
    println!("{means:.3?}");
    let [frequent, near, groups, rule, _] = means;
    assert!(frequent < 0.2 && near > 0.2 && groups > 0.6 && rule > 0.8, "{means:?}");
}

#[test]
fn rows_are_numbers_within_reach_and_slips_change_no_cell() {
    for seed in 0..6 {
        let (rule, clean) = drawn(seed, 0.0);
        let (_, slipped) = drawn(seed, 0.3);
        for (row, other) in clean.iter().zip(&slipped) {
            assert_eq!((&row.cells, &row.ideal), (&other.cells, &other.ideal));
            let measured = rule.measured(&row.cells).unwrap();
            assert!((0.0..=1.0).contains(&rule.place(measured.condition)));
        }
        let wrong = clean.iter().zip(&slipped).filter(|(a, b)| a.truth != b.truth).count();
        assert!((100..210).contains(&wrong), "{wrong}");
        assert_eq!(drawn(seed, 0.3).1, slipped);
        let Values::Ids(names) = answers(&clean[..ROWS.train], |row| &row.truth) else { panic!() };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for ids in &names {
            *counts.entry(&ids[0]).or_default() += 1;
        }
        assert_eq!(counts.len(), ROWS.train / MEAN);
        assert!(counts.values().all(|count| (LEAST..=MOST).contains(count)), "{counts:?}");
    }
}

#[test]
fn the_recorded_code_ranks_nearly_as_well_as_the_truth() {
    for seed in [11, 12, 13] {
        let (rule, rows) = drawn(seed, 0.0);
        let found = python::answers(&rule.oracle(), ROWS.train, &rows);
        let split = |line: &String| line.split(' ').map(str::to_owned).collect();
        let found = Values::Ids(found.iter().map(split).collect());
        let test = &rows[ROWS.train..];
        let truth = answers(test, |row| &row.truth);
        let score = |forecast| values::score(Metric::MapAt5, &truth, forecast).unwrap();
        let (own, best) = (score(&found), score(&answers(test, |row| &row.ideal)));
        assert!(own > best - 0.08 && own <= best + 0.02, "{own} of {best}");
    }
}
