//! Rows, ids and items that tell more than they should.

use super::*;
use crate::data::table::{self, Cells};
use crate::numeric::draws::Draws;
use polars::prelude::Column;

#[test]
fn ids_in_order_of_the_target_are_seen() {
    let bench = binary();
    let task = bench.with(|draft| {
        let assets = &mut draft.facts.assets;
        let target = assets.train_truth.as_numbers();
        let rows = by_truth(&target);
        for (place, row) in rows.into_iter().enumerate() {
            assets.train_ids[row] = (20_000 + place).to_string();
        }
        let target = assets.test_truth.as_numbers();
        for (id, target) in assets.test_ids.iter_mut().zip(target) {
            *id = format!("{}", id.parse::<f64>().unwrap() + 1e5 * target);
        }
    });
    assert_eq!(code(check(&task)), "id_leak");
}

#[test]
fn digits_that_follow_the_target_are_seen() {
    let bench = binary();
    let task = bench.with(|draft| {
        let assets = &mut draft.facts.assets;
        let target = assets.test_truth.as_numbers();
        for (id, target) in assets.test_ids.iter_mut().zip(target) {
            id.push(if target > 0.5 { '9' } else { '1' });
        }
    });
    assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Id])), "id_leak");
}

#[test]
fn rows_in_order_of_the_target_are_seen() {
    let bench = binary();
    let task = bench.with(|draft| {
        let assets = &mut draft.facts.assets;
        let target = assets.train_truth.as_numbers();
        let rows = by_truth(&target);
        assets.train = table::take(&assets.train, &rows);
        assets.train_truth = assets.train_truth.take(&rows);
    });
    assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Order])), "order_leak");
}

/// Overwrites the first test rows with training rows, numbers moved by `shift` of their size.
fn copy_rows(draft: &mut UnwrittenDraft, count: usize, shift: f64) {
    let pairs: Vec<(usize, usize)> = (0..count).map(|row| (row, row)).collect();
    overwrite(draft, &pairs, |value| digits(value) + shift * digits(value));
}

/// Overwrites each pair's test row with its training row, numbers changed by `change`.
fn overwrite(draft: &mut UnwrittenDraft, pairs: &[(usize, usize)], change: impl Fn(f64) -> f64) {
    let assets = &mut draft.facts.assets;
    let columns = assets.train.columns().iter().zip(assets.test.columns());
    let column = |(from, to): (&Column, &Column)| {
        let mut cells = Cells::from_column(to);
        for (test, train) in pairs {
            match (Cells::from_column(from), &mut cells) {
                (Cells::Numbers(from), Cells::Numbers(to)) => to[*test] = change(from[*train]),
                (Cells::Text(from), Cells::Text(to)) => to[*test] = from[*train],
                _ => panic!("both tables have the same columns"),
            }
        }
        cells.into_column(to.name(), 9)
    };
    assets.test = table::from_columns(columns.map(column).collect());
}

#[test]
fn a_row_on_both_sides_of_the_split_is_seen() {
    let bench = binary();
    let task = bench.with(|draft| overwrite(draft, &[(3, 5)], |value| value));
    assert_eq!(code(leaks::no_duplicates(&task)), "duplicate");
}

#[test]
fn near_copies_across_the_split_are_seen() {
    let bench = regression();
    let task = bench.with(|draft| copy_rows(draft, 40, 1e-4));
    assert_eq!(code(leaks::no_near_copies(&task)), "near_copy");
}

/// Training rows so that the classes come in turns, without a trend.
fn in_turns(draft: &mut UnwrittenDraft) {
    let assets = &mut draft.facts.assets;
    let target = assets.train_truth.as_numbers();
    let count = |class: f64| target.iter().filter(|value| **value == class).count();
    let turns = target.len() / 10;
    let mut seen = [0, 0];
    let mut turn: Vec<usize> = Vec::new();
    for value in &target {
        let place = &mut seen[usize::from(*value > 0.5)];
        turn.push(*place * turns / count(*value));
        *place += 1;
    }
    let mut rows: Vec<usize> = (0..target.len()).collect();
    rows.sort_by(|a, b| (turn[*a], target[*a]).partial_cmp(&(turn[*b], target[*b])).unwrap());
    assets.train = table::take(&assets.train, &rows);
    assets.train_truth = assets.train_truth.take(&rows);
}

#[test]
fn classes_in_turns_are_seen() {
    let bench = binary();
    let task = bench.with(in_turns);
    let found = leaks::say_nothing(&task, &[Carrier::Order]);
    assert!(
        matches!(found, Err(Refusal::Leak { ref what, .. }) if what == "runs of like rows in train.csv"),
        "{found:?}"
    );
    assert_eq!(code(found), "order_leak");
}

#[test]
fn ids_that_follow_one_of_several_labels_are_seen() {
    let bench = Bench::of(Cell { modality: Modality::Image, formulation: Formulation::Multilabel });
    let task = bench.with(|draft| {
        let assets = &mut draft.facts.assets;
        let label = assets.test_truth.parts().last().unwrap().as_numbers();
        for (id, held) in assets.test_ids.iter_mut().zip(label) {
            id.push(if held > 0.5 { '9' } else { '1' });
        }
    });
    assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Id])), "id_leak");
    // The names of files are made of ids.
    assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Name])), "name_leak");
}

#[test]
fn items_of_every_medium_that_tell_are_seen() {
    for modality in [Modality::Image, Modality::Audio, Modality::Text, Modality::Graph] {
        // The sizes of compressed files differ by more than what is planted.
        let format = (modality == Modality::Image).then_some(Format::Png);
        let bench = Bench::written_as(Cell { modality, formulation: Formulation::Binary }, format);
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            assets.test_items[3] = assets.train_items[5].clone();
            overwrite(draft, &[(3, 5)], |value| value);
        });
        assert_eq!(code(check(&task)), "duplicate", "{modality:?}");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            for (test, train) in assets.test_items.iter_mut().zip(&assets.train_items).take(40) {
                *test = Item::new(test.bytes.clone(), train.reading().clone());
            }
            copy_rows(draft, 40, 1e-6);
        });
        assert_eq!(code(leaks::no_near_copies(&task)), "near_copy", "{modality:?}");
        let task = bench.with(|draft| {
            let assets = &mut draft.facts.assets;
            let mut draws = Draws::new(draft.facts.blueprint.origin.stream("test"));
            let sizes: Vec<usize> =
                assets.train_items.iter().map(|item| item.bytes.len()).collect();
            let spread = sizes.iter().max().unwrap() - sizes.iter().min().unwrap();
            let most = spread.max(300);
            for (items, truth) in [
                (&mut assets.train_items, &assets.train_truth),
                (&mut assets.test_items, &assets.test_truth),
            ] {
                for (item, target) in items.iter_mut().zip(truth.as_numbers()) {
                    // More bytes for one class, by and large, than items differ by themselves.
                    let more = draws.whole(0, most) + if target > 0.5 { most } else { 0 };
                    item.bytes.extend(vec![b' '; more]);
                }
            }
        });
        assert_eq!(code(leaks::say_nothing(&task, &[Carrier::Size])), "size_leak", "{modality:?}");
    }
}
