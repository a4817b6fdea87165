//! Sequences and their ids that tell more than they should.

use super::*;
use crate::data::assets::{Sequences, means};

fn bench() -> Bench {
    Bench::new(Formulation::Positions)
}

fn sequences(draft: &mut UnwrittenDraft) -> &mut Sequences {
    draft.facts.assets.sequences.as_mut().unwrap()
}

#[test]
fn ids_of_sequences_in_order_of_their_mean_answer_are_seen() {
    let task = bench().with(|draft| {
        let assets = &draft.facts.assets;
        let truths =
            [&assets.train_truth, &assets.test_truth].map(|truth| truth.parts()[0].as_numbers());
        let known = sequences(draft);
        for (side, truth) in [&mut known.train, &mut known.test].into_iter().zip(&truths) {
            let means = means(side, truth);
            for (row, mean) in side.iter_mut().zip(&means) {
                let place = means.iter().filter(|other| other.total_cmp(mean).is_lt()).count();
                row.id = (20_000 + place).to_string();
            }
        }
    });
    assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Id])), "id_leak");
}

#[test]
fn sequences_in_order_of_their_mean_answer_are_seen() {
    // The lines of a sequence follow its place; what is probed are the sequences.
    let bench = bench();
    assert!(leaks::say_nothing(&bench.staged, &[Carrier::Order]).is_ok());
    let task = bench.with(|draft| {
        let assets = &mut draft.facts.assets;
        let Some(known) = assets.sequences.as_mut() else { panic!("sequences") };
        let truth = assets.train_truth.parts()[0].as_numbers();
        let means = means(&known.train, &truth);
        let mut order: Vec<usize> = (0..means.len()).collect();
        order.sort_by(|one, other| means[*one].total_cmp(&means[*other]));
        let lengths: Vec<usize> = known.train.iter().map(|one| one.positions).collect();
        let first = |row: usize| lengths[..row].iter().sum::<usize>();
        let rows: Vec<usize> =
            order.iter().flat_map(|row| first(*row)..first(*row) + lengths[*row]).collect();
        assets.train_truth = assets.train_truth.take(&rows);
        known.train = order.iter().map(|row| known.train[*row].clone()).collect();
        assets.train_items = order.iter().map(|row| assets.train_items[*row].clone()).collect();
    });
    assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Order])), "order_leak");
}

#[test]
fn sequence_on_both_sides_of_the_split_is_seen() {
    let task = bench().with(|draft| {
        let assets = &mut draft.facts.assets;
        assets.test_items[3] = assets.train_items[5].clone();
    });
    assert_eq!(code(leaks::no_duplicates(&task)), "duplicate");
}

#[test]
fn sequence_with_a_symbol_changed_is_seen() {
    let bench = bench();
    assert!(copies::no_item_is_a_copy(&bench.staged).is_ok());
    let task = bench.with(|draft| {
        let rule = draft.facts.blueprint.along().unwrap().clone();
        let assets = &mut draft.facts.assets;
        let item = |symbols: &[usize], rest: &str| format!("{}\n{rest}", rule.cell(symbols));
        let longest = assets.train_items.iter().max_by_key(|item| item.bytes.len()).unwrap();
        let text = String::from_utf8(longest.bytes.clone()).unwrap();
        let (cell, rest) = text.split_once('\n').unwrap();
        let mut symbols = rule.parse(cell).unwrap();
        symbols[7] = (symbols[7] + 1) % rule.symbols.len();
        assets.test_items[0].bytes = item(&symbols, rest).into_bytes();
    });
    assert!(leaks::no_duplicates(&task).is_ok());
    assert_eq!(code(copies::no_item_is_a_copy(&task)), "text_copy");
}
