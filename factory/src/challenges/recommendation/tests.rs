//! What recommendation promises: rungs in order, a rule that can be found, and Python that ranks as
//! well.

use super::*;
use crate::challenges::python;
use crate::challenges::trial::{self, Trial, answers};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::Formulation;

const ROWS: RowCounts = RowCounts { train: 180, test: 360 };
const SEEDS: u64 = 24;

fn drawn(seed: u64, slips: f64) -> (Recommendation, Vec<DrawnRow>) {
    let mut draws = Draws::new(Stream::root(seed));
    let rule = Recommendation::plan(
        draws.pick::<Vec<_>>(&trial::columns(Formulation::Recommendation)),
        &mut draws,
    );
    let strengths = Strengths::from([(SLIPS.name.to_owned(), slips)]);
    let wording = Wording { subjects: Vec::new(), settings: Vec::new() };
    let rows = rule.draw(&wording, &strengths, ROWS, &mut draws);
    (rule, rows)
}

#[test]
fn rungs_rise_and_the_rule_is_found() {
    let mut means = [0.0; 5];
    let mut shapes: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let (rule, rows) = drawn(seed, 0.03);
        let Trial { train, known, scores } = Trial::new(&rule, Metric::MapAt5, &rows, ROWS.train);
        println!("{seed}: {scores:.3?} {:?}", rule.parts());
        let [_, quick, practised, found, ceiling] = scores;
        assert!(scores[..4].is_sorted() && practised < found - 0.1, "{rule}: {scores:?}");
        assert!(quick < practised && found < ceiling + 0.02, "{rule}: {scores:?}");
        means.iter_mut().zip(scores).for_each(|(mean, score)| *mean += score / SEEDS as f64);
        let Values::Ids(names) = &known else { panic!() };
        let names: Vec<&str> = names.iter().map(|ids| ids[0].as_str()).collect();
        let catalogue = Catalogue::new(&train, &names);
        let people = catalogue.people(&train, Some(&names));
        let habits = Habits::new(&catalogue, &people, &Counts::new(&catalogue, &people));
        let parts = (habits.shape, habits.repeats, habits.mover);
        assert_eq!(parts, (rule.shape, rule.repeats, rule.mover), "seed {seed}");
        let [low, high] = rule.range;
        let off = (habits.threshold - rule.threshold).abs() / (high - low);
        assert!(off < 0.06, "seed {seed}: {} for {}", habits.threshold, rule.threshold);
        *shapes.entry(format!("{:?}", rule.shape)).or_default() += 1;
    }
    println!("{means:.3?} {shapes:?}");
    let [frequent, quick, practised, rule, _] = means;
    assert!(frequent < 0.15 && quick > 0.15 && practised > 0.3 && rule > 0.65, "{means:?}");
    assert_eq!(shapes.len(), 4);
}

#[test]
fn rows_are_lists_of_known_items_and_slips_change_no_cell() {
    for seed in 0..6 {
        let (rule, clean) = drawn(seed, 0.0);
        let (_, slipped) = drawn(seed, 0.3);
        for (row, other) in clean.iter().zip(&slipped) {
            assert_eq!((&row.cells, &row.ideal), (&other.cells, &other.ideal));
            let person = Person::read(&row.cells).unwrap();
            assert!((BEFORE[0]..=BEFORE[1]).contains(&person.chosen.len()));
            assert!(person.chosen.iter().all(|item| rule.items.contains(item)));
            assert!((rule.range[0]..=rule.range[1]).contains(&person.number));
            assert_eq!(rule.read(&row.cells).generic.len(), 2 + 4 + ITEMS);
        }
        let wrong = clean.iter().zip(&slipped).filter(|(a, b)| a.truth != b.truth).count();
        assert!((100..210).contains(&wrong), "{wrong}");
        assert_eq!(drawn(seed, 0.3).1, slipped);
    }
}

#[test]
fn rules_turn_round_and_leave_something_to_find() {
    for shape in Shape::ALL {
        for repeats in Repeats::ALL {
            let moves = moves(shape, repeats);
            assert!(moves.len() >= 6, "{shape:?} {repeats:?}: {}", moves.len());
            let turning = |words: &[[i8; 2]; WORDS]| words.iter().any(|[a, b]| a != b);
            assert!(moves.iter().all(turning));
        }
    }
}

#[test]
fn what_follows_is_of_the_kind_that_the_rule_says() {
    let (mut rule, _) = drawn(1, 0.0);
    rule.shape = Shape::Leap;
    rule.repeats = Repeats::Fresh;
    for one in &mut rule.moves {
        (one.below, one.above) = (1, -1);
    }
    let likely = |rule: &Recommendation, number, chosen: &[usize]| -> BTreeSet<usize> {
        let chances = rule.probabilities([0; 2], number, chosen);
        assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        (0..ITEMS).filter(|item| chances[*item] > 0.05).collect()
    };
    let [low, high] = rule.range;
    // From the first kind on to the second, or back to the last.
    assert_eq!(likely(&rule, low, &[3, 0, 7]), BTreeSet::from([4, 5, 6]));
    assert_eq!(likely(&rule, high, &[3, 0, 7]), BTreeSet::from([20, 21, 22, 23]));
    rule.repeats = Repeats::Faithful;
    assert_eq!(likely(&rule, low, &[5, 4, 3, 0]), BTreeSet::from([4]));
    rule.shape = Shape::Sequel;
    for one in &mut rule.moves {
        (one.below, one.above) = (1, 3);
    }
    assert_eq!(likely(&rule, low, &[5, 9, 23]), BTreeSet::from([0]));
    assert_eq!(likely(&rule, high, &[5, 9, 23]), BTreeSet::from([6]));
}

#[test]
fn the_recorded_code_ranks_as_the_rule_does() {
    let mut seen = BTreeSet::new();
    for seed in 11..19 {
        let (rule, rows) = drawn(seed, 0.0);
        if !seen.insert(crate::spec::mix::name(&rule.shape)) {
            continue;
        }
        let found = python::answers(&rule.oracle(), ROWS.train, &rows);
        let test = &rows[ROWS.train..];
        let Values::Ids(ideal) = answers(test, |row| &row.ideal) else { panic!() };
        let ideal: Vec<String> = ideal.iter().map(|names| names.join(" ")).collect();
        assert_eq!(found, ideal, "{rule}");
    }
}
