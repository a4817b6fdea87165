//! What recommendation promises: rungs in order, a rule that can be found, and Python that ranks as
//! well.

use super::*;
use crate::baselines::rungs::Material;
use crate::challenges::python;
use crate::spec::scenario::{self, Story};
use std::collections::BTreeMap;
use tasks::stream::Stream;
use tasks::task::Formulation;
use tasks::values;

const ROWS: RowCounts = RowCounts { train: 180, test: 360 };
const SEEDS: u64 = 24;

fn stories() -> Vec<Vec<ChallengeColumn>> {
    let told = scenario::all().unwrap().into_iter().filter_map(|scenario| match scenario.story {
        Story::Challenge(story) if story.formulation == Formulation::Recommendation => {
            Some(story.columns)
        }
        _ => None,
    });
    told.collect()
}

fn drawn(seed: u64, slips: f64) -> (Recommendation, Vec<DrawnRow>) {
    let mut draws = Draws::new(Stream::root(seed));
    let rule = Recommendation::plan(draws.pick::<Vec<_>>(&stories()), &mut draws);
    let strengths = Strengths::from([(SLIPS.name.to_owned(), slips)]);
    let wording = Wording { subjects: Vec::new(), settings: Vec::new() };
    let rows = rule.draw(&wording, &strengths, ROWS, &mut draws);
    (rule, rows)
}

fn ids(rows: &[DrawnRow], part: fn(&DrawnRow) -> &Answer) -> Values {
    let names = |row| match part(row) {
        Answer::Ids(names) => names.clone(),
        Answer::Text(_) => panic!("items have names"),
    };
    Values::Ids(rows.iter().map(names).collect())
}

#[test]
fn rungs_rise_and_the_rule_is_found() {
    let mut means = [0.0; 5];
    let mut shapes: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let (rule, rows) = drawn(seed, 0.03);
        let (train, test) = rows.split_at(ROWS.train);
        let cells = |rows: &[DrawnRow]| rows.iter().map(|row| row.cells.clone()).collect();
        let [known, hidden] = [train, test].map(|rows| ids(rows, |row| &row.truth));
        let ideal = ids(test, |row| &row.ideal);
        let material = Material {
            train: cells(train),
            test: cells(test),
            train_truth: &known,
            test_truth: &hidden,
            ideal: &ideal,
            metric: rule.metric(),
            stream: Stream::root(0),
        };
        let rungs = rule.climb(&material).unwrap();
        let score = |forecast| values::score(Metric::MapAt5, &hidden, forecast).unwrap();
        let scores = rungs.forecasts.each_ref().map(score);
        println!("{seed}: {scores:.3?} {:?}", rule.parts());
        let [_, quick, practised, found, ceiling] = scores;
        assert!(scores[..4].is_sorted() && practised < found - 0.1, "{rule}: {scores:?}");
        assert!(quick < practised && found < ceiling + 0.02, "{rule}: {scores:?}");
        means.iter_mut().zip(scores).for_each(|(mean, score)| *mean += score / SEEDS as f64);
        let names: Vec<&str> = train
            .iter()
            .map(|row| match &row.truth {
                Answer::Ids(names) => names[0].as_str(),
                Answer::Text(_) => panic!("items have names"),
            })
            .collect();
        let catalogue = Catalogue::new(&material.train, &names);
        let people = catalogue.people(&material.train, Some(&names));
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
        let answers = python::answers(&rule.oracle(), ROWS.train, &rows);
        let test = &rows[ROWS.train..];
        let Values::Ids(ideal) = ids(test, |row| &row.ideal) else { panic!() };
        let ideal: Vec<String> = ideal.iter().map(|names| names.join(" ")).collect();
        assert_eq!(answers, ideal, "{rule}");
    }
}
