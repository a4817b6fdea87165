//! What answers along sequences promise: rungs in order, terms that see what they say, forms that
//! only held-out tasks have, and Python that answers as the rule does.

use super::sequence::along;
use super::*;
use crate::challenges::python;
use crate::challenges::trial::Trial;
use crate::spec::positions::{Form, Place};
use crate::spec::scenario::{self, Story};
use serde_json::json;
use tasks::stream::Stream;

const ROWS: RowCounts = RowCounts { train: 60, test: 80 };

/// The stories of sequences.
fn stories() -> Vec<ChallengeScenario> {
    let told = scenario::all().unwrap().into_iter().filter_map(|scenario| match scenario.story {
        Story::Challenge(story) if story.positions.is_some() => Some(*story),
        _ => None,
    });
    told.collect()
}

fn planned(seed: u64, split: Split) -> Positions {
    let mut draws = Draws::new(Stream::root(seed));
    let story = draws.pick(&stories()).clone();
    Positions::plan(&story, split, &mut draws)
}

fn drawn(rule: &Positions, seed: u64) -> Vec<DrawnRow> {
    let wording = Wording { subjects: Vec::new(), settings: Vec::new() };
    let mut draws = Draws::new(Stream::root(seed).child("rows"));
    rule.draw(&wording, &Strengths::new(), ROWS, &mut draws)
}

#[test]
fn stories_are_told_in_many_domains() {
    let all = scenario::all().unwrap();
    let told = |scenario: &&scenario::Scenario| match &scenario.story {
        Story::Challenge(story) => story.positions.is_some(),
        _ => false,
    };
    let domains: BTreeSet<&str> = all.iter().filter(told).map(|one| &*one.domain).collect();
    assert!(stories().len() >= 8 && domains.len() >= 6, "{domains:?}");
}

#[test]
fn rungs_rise_and_what_looks_far_is_beyond_a_window() {
    const SEEDS: u64 = 16;
    let (mut ways, mut kinds) = ([0.0; 4], BTreeSet::new());
    for seed in 0..SEEDS {
        let split = if seed % 2 == 0 { Split::Train } else { Split::Val };
        let rule = planned(seed, split);
        let rows = drawn(&rule, seed);
        let metric = *rule.metrics().last().unwrap();
        let Trial { scores, .. } = Trial::new(&rule, metric, &rows, ROWS.train);
        let gains = scores.map(|score| metric.direction().gain(score));
        println!("{seed}: {metric} {scores:.3?} {:?}", rule.parts());
        let way = |rung: usize| (gains[rung] - gains[0]) / (gains[4] - gains[0]);
        assert!(gains[..4].is_sorted() && way(3) < 1.03, "{rule}: {scores:?}");
        ways.iter_mut().enumerate().for_each(|(at, sum)| *sum += way(at) / SEEDS as f64);
        kinds.insert(format!("{metric}"));
    }
    println!("{ways:.3?} {kinds:?}");
    let [_, symbol, window, terms] = ways;
    assert!(symbol > 0.08 && window > symbol + 0.1 && window < 0.8 && terms > 0.9, "{ways:?}");
    assert_eq!(kinds.len(), 3, "{kinds:?}");
}

#[test]
fn terms_see_what_they_say() {
    let see = |form: Form| along(&form, &[0, 1, 1, 2, 0, 0, 1]);
    let fade = |d: f64| libm::exp(-d / 2.0);
    assert_eq!(see(Form::Own { values: vec![0.5, -1.0, 2.0] })[..4], [0.5, -1.0, -1.0, 2.0]);
    let since = see(Form::Since { symbol: 1, reach: 2.0 });
    assert_eq!(since, [0.0, 1.0, 1.0, fade(1.0), fade(2.0), fade(3.0), 1.0]);
    let until = see(Form::Until { symbol: 2, reach: 2.0 });
    assert_eq!(until, [fade(3.0), fade(2.0), fade(1.0), 1.0, 0.0, 0.0, 0.0]);
    let nearest = see(Form::Nearest { symbol: 2, reach: 2.0 });
    assert_eq!(nearest[2..6], [fade(1.0), 1.0, fade(1.0), fade(2.0)]);
    assert_eq!(see(Form::Run { most: 2 }), [1.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
    let count = see(Form::Count { symbol: 1, window: 3 });
    assert_eq!(count, [0.0, 1.0, 2.0, 2.0, 1.0, 0.0, 1.0]);
    assert_eq!(see(Form::State { on: 1, off: 0 }), [0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let depth = see(Form::Depth { open: 0, close: 1, most: 2 });
    assert_eq!(depth, [1.0, 1.0, 0.0, 0.0, 1.0, 2.0, 2.0]);
    let inside = see(Form::Inside { open: 0, close: 1, reach: 2.0 });
    assert_eq!(inside, [1.0, fade(1.0), 0.0, 0.0, 1.0, 1.0, fade(1.0)]);
    assert_eq!(see(Form::Toggle { symbol: 0 }), [1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
    assert_eq!(see(Form::Echo { lag: 4 }), [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    assert_eq!(see(Form::Start { reach: 2.0 })[..2], [1.0, fade(1.0)]);
    assert_eq!(see(Form::End { reach: 2.0 })[5..], [fade(1.0), 1.0]);
    let places = [(-1, vec![1, 2]), (0, vec![0, 1])];
    let places = places.map(|(offset, any_of)| Place { offset, any_of }).to_vec();
    assert_eq!(see(Form::Motif { places }), [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
}

#[test]
fn held_out_rules_alone_have_held_out_forms_and_rules_are_of_many_kinds() {
    let (mut skeletons, mut novel) = (BTreeSet::new(), 0);
    for seed in 0..60 {
        let rule = planned(seed, Split::Train);
        assert!(!rule.is_held_out(), "{rule}");
        skeletons.insert(rule.parts());
        novel += usize::from(planned(seed, Split::Val).is_held_out());
    }
    assert!(skeletons.len() >= 50, "{}", skeletons.len());
    assert!((28..56).contains(&novel), "{novel}");
}

#[test]
fn sequences_are_of_their_lengths_and_are_read_back_and_the_sum_is_standard() {
    for seed in 0..8 {
        let rule = planned(seed, Split::Val);
        let mut draws = Draws::new(Stream::root(seed).child("some"));
        let mut sums = Vec::new();
        for _ in 0..150 {
            let (cells, sequence) = Sequence::draw(&rule, &mut draws);
            assert_eq!(Sequence::read(&rule, &cells), Some(sequence.clone()));
            let [least, most] = rule.lengths;
            assert!((least..=most).contains(&sequence.symbols.len()) && most <= 120);
            sums.extend(sequence.sum(&rule.targets[0].terms));
        }
        let (mean, spread) = crate::numeric::moments::moments(&sums);
        assert!(mean.abs() < 0.15 && (spread - 1.0).abs() < 0.15, "{rule}: {mean} {spread}");
    }
}

#[test]
fn answers_have_an_entry_for_each_position_and_noise_changes_no_cell() {
    for seed in 0..6 {
        let rule = planned(seed, Split::Train);
        let rows = drawn(&rule, seed);
        assert_eq!(rows, drawn(&rule, seed));
        for row in &rows {
            let sequence = Sequence::read(&rule, &row.cells).unwrap();
            let (Answer::Each(truth), Answer::Each(ideal)) = (&row.truth, &row.ideal) else {
                panic!("answers to positions are expected")
            };
            assert_eq!([truth.len(), ideal.len()], [sequence.symbols.len(); 2]);
            assert_ne!(truth, ideal);
        }
    }
}

#[test]
fn the_recorded_code_answers_as_the_rule_does() {
    let mut forms = BTreeSet::new();
    for seed in 0..24 {
        let rule = planned(seed, if seed < 6 { Split::Train } else { Split::Val });
        let new = rule.parts().into_iter().filter(|part| forms.insert(part.clone())).count();
        if new == 0 {
            continue;
        }
        let rows = &drawn(&rule, seed)[..12];
        let found = python::along(&rule.oracle(), rows);
        for (place, row) in rows.iter().enumerate() {
            let Answer::Each(ideal) = &row.ideal else { panic!("answers to positions") };
            for at in 0..ideal.len() {
                let answer = &found[format!("{place}_{}", at + 1)];
                match (ideal, &rule.targets[0].answer) {
                    (Values::Labels(labels), PositionAnswer::Class { classes, .. }) => {
                        assert_eq!(answer, &json!([sorted(classes)[labels[at]]]), "{rule}");
                    }
                    (Values::Numbers(numbers), _) => near(&rule, answer, &numbers[at..=at]),
                    (Values::Matrix { values, columns }, _) => {
                        near(&rule, answer, &values[at * columns..(at + 1) * columns]);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

/// Numbers are those of the rule up to the digits that are written.
fn near(rule: &Positions, found: &serde_json::Value, expected: &[f64]) {
    for ((target, found), expected) in
        rule.targets.iter().zip(found.as_array().unwrap()).zip(expected)
    {
        let PositionAnswer::Number { decimals, .. } = target.answer else { panic!("a number") };
        let off = (found.as_f64().unwrap() - expected).abs();
        assert!(off <= 0.51 * libm::pow(10.0, -(decimals as f64)), "{rule}: {found} {expected}");
    }
}
