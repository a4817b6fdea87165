//! For each trait of a seed: the public tables of tasks with it differ from those without it, by a
//! statistic that anyone can compute.

use super::Brief;
use super::briefs::BriefSet;
use super::strategist::strategise;
use crate::data::table;
use crate::data::table_file::read_table;
use crate::numeric::moments::median;
use crate::package::public_tables;
use crate::show::stats::structure::{PublicTables, TaskStructure};
use crate::spec::seed::{Seed, Trait};

/// Stories that are told with and without a trait.
const STORIES: u64 = 21;

/// The structures of tasks of one kind, one per story, of a seed with these traits.
fn structures(cell: &str, traits: &[Trait]) -> Vec<TaskStructure> {
    let set = BriefSet::new(cell, STORIES);
    let one = |brief: Brief<'_>| {
        let mut seed: Seed = brief.seed.clone();
        seed.traits = traits.to_vec();
        seed.target.cardinality = None;
        seed.target.distribution = "balanced".to_owned();
        let blueprint = strategise(&Brief { seed: &seed, ..brief }).ok()?;
        let assets = blueprint.kind().render(&blueprint, None).unwrap();
        let [train, test] = public_tables(&blueprint, &assets)
            .map(|one| table::read_csv(&table::to_csv(&one)).unwrap());
        let (id, prediction) = (&*blueprint.id_column, &blueprint.prediction);
        let others = blueprint.kind().files(&blueprint, &assets).into_iter();
        let read = |(path, bytes): (String, Vec<u8>)| {
            read_table(&path, &bytes, &blueprint.id_column).unwrap()
        };
        let others: Vec<_> = others.map(read).collect();
        let (train, test, others) = (&train, &test, &others[..]);
        Some(TaskStructure::of(&PublicTables { train, test, id, prediction, others }))
    };
    set.briefs().filter_map(one).collect()
}

/// The medians of a statistic with and without a trait, over the same stories and streams.
fn medians(cell: &str, of: Trait, read: fn(&TaskStructure) -> f64) -> [f64; 2] {
    let median = |traits: &[Trait]| {
        let found: Vec<f64> = structures(cell, traits).iter().map(read).collect();
        assert!(found.len() as u64 > STORIES / 2, "{of:?}: {} tasks", found.len());
        median(&found)
    };
    [median(&[of]), median(&[])]
}

/// The statistic is larger with the trait, by the factor and the difference.
fn grows(cell: &str, of: Trait, by: (f64, f64), read: fn(&TaskStructure) -> f64) {
    let [with, without] = medians(cell, of, read);
    eprintln!("{of:?} in {cell}: {with:.3} with it, {without:.3} without it");
    assert!(with >= by.0 * without + by.1, "{of:?}: {with} with it, {without} without it");
}

/// The statistic is smaller with the trait, by the factor.
fn shrinks(cell: &str, of: Trait, factor: f64, read: fn(&TaskStructure) -> f64) {
    let [with, without] = medians(cell, of, read);
    eprintln!("{of:?} in {cell}: {with:.3} with it, {without:.3} without it");
    assert!(with <= factor * without, "{of:?}: {with} with it, {without} without it");
}

const BINARY: &str = "tabular/binary";
const CLASSES: &str = "tabular/multiclass";
const NUMBER: &str = "tabular/regression";

#[test]
fn class_imbalance_makes_positives_rare_and_classes_uneven() {
    shrinks(BINARY, Trait::ClassImbalance, 0.4, |task| task.positive);
    grows(CLASSES, Trait::ClassImbalance, (2.0, 0.0), |task| task.head_to_tail);
    shrinks("tabular/multilabel", Trait::ClassImbalance, 0.6, |task| task.positive);
}

#[test]
fn long_tails_have_many_classes_of_very_different_sizes() {
    grows(CLASSES, Trait::LongTail, (5.0, 0.0), |task| task.head_to_tail);
    grows(CLASSES, Trait::LongTail, (3.0, 0.0), |task| task.classes);
}

#[test]
fn few_rows_per_class_are_few() {
    shrinks(CLASSES, Trait::FewPerClass, 0.5, |task| task.rows_per_class);
}

#[test]
fn few_rows_are_few() {
    shrinks(NUMBER, Trait::FewRows, 0.9, |task| task.rows);
}

#[test]
fn ordinal_classes_are_numbers_in_a_row() {
    grows(CLASSES, Trait::Ordinal, (1.0, 1.0), |task| task.ordered);
}

#[test]
fn group_keys_are_new_in_testing() {
    grows(NUMBER, Trait::GroupKeys, (1.0, 15.0), |task| task.groups);
}

#[test]
fn hierarchies_nest_groups() {
    grows(NUMBER, Trait::Hierarchy, (1.0, 1.0), |task| task.nested);
}

#[test]
fn drift_and_regimes_move_later_rows() {
    for of in [Trait::Drift, Trait::Regimes] {
        grows(NUMBER, of, (1.0, 1.0), |task| task.later);
        grows(NUMBER, of, (1.5, 0.15), |task| task.drift);
    }
}

#[test]
fn near_duplicates_are_in_the_training_table() {
    grows(NUMBER, Trait::NearDuplicates, (1.0, 0.1), |task| task.repeated);
}

#[test]
fn zero_inflated_columns_are_mostly_zero() {
    grows(NUMBER, Trait::ZeroInflated, (1.0, 0.4), |task| task.zeros);
}

#[test]
fn lists_are_of_variable_length() {
    grows(NUMBER, Trait::VariableLength, (1.0, 0.2), |task| task.lengths);
}

#[test]
fn records_stand_in_files_of_their_own() {
    grows(NUMBER, Trait::RelatedTables, (1.0, 4.0), |task| task.records);
}

#[test]
fn scales_are_mixed() {
    grows(NUMBER, Trait::MixedScales, (1.0, 1.0), |task| task.scales);
}

#[test]
fn dimensions_are_many() {
    grows(NUMBER, Trait::HighDimension, (2.0, 0.0), |task| task.columns);
}

#[test]
fn values_are_missing() {
    grows(NUMBER, Trait::MissingValues, (1.8, 0.01), |task| task.missing);
}

#[test]
fn columns_correlate() {
    grows(NUMBER, Trait::CorrelatedColumns, (1.0, 0.1), |task| task.correlation);
}

#[test]
fn noise_and_weak_signals_leave_less_to_explain() {
    for of in [Trait::HeavyNoise, Trait::WeakSignal] {
        shrinks(NUMBER, of, 0.95, |task| task.explained);
    }
    shrinks(BINARY, Trait::LabelNoise, 0.95, |task| task.explained);
}

#[test]
fn interactions_are_found_in_products() {
    grows(NUMBER, Trait::Interactions, (1.05, 0.0), |task| task.together);
}
