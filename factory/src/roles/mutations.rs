//! Which blemishes a task gets: two or three that suit the seed's traits and the data.

use super::strategist::{RULED, percent};
use super::structure;
use crate::media::Blemish;
use crate::numeric::draws::Draws;
use crate::numeric::rounding::digits;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::Layout;
use crate::spec::mutation::Mutation;
use crate::spec::rule::Expr;
use crate::spec::scenario::NumberColumn;
use crate::spec::seed::Trait;
use tasks::metrics::Metric;
use tasks::task::Formulation;

/// Draws a task's mutations, in order of application. `positive` is the share of rows that are
/// positive, where the seed's are rare.
pub(super) fn choose(
    blueprint: &Blueprint,
    positive: Option<f64>,
    draws: &mut Draws,
) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    let dna = &blueprint.dna;
    let classifies = blueprint.targets.iter().any(|target| !target.classes.is_empty());
    if classifies && blueprint.queries().is_none() {
        // Items are noisy to read as it is.
        let shaped = structure::shapes(blueprint);
        let (least, most) = match (dna.has(Trait::LabelNoise), blueprint.item().is_some()) {
            (true, _) if shaped => (0.08, 0.12),
            (false, _) if shaped => (0.02, 0.04),
            (true, false) => (0.03, 0.08),
            (false, false) => (0.03, 0.06),
            (true, true) => (0.02, 0.05),
            (false, true) => (0.02, 0.04),
        };
        let share = percent(draws.between(least, most));
        // Half of the labels that are drawn anew are positive, however rare those are.
        let share = positive.map_or(share, |positive| share.min(digits(0.2 * positive)));
        mutations.push(Mutation::LabelNoise { share });
    }
    // Accuracy-like metrics would reward the majority class alone.
    let uneven =
        matches!(blueprint.metric, Metric::RocAuc | Metric::AveragePrecision | Metric::LogLoss);
    let moderate = blueprint.formulation == Formulation::Binary && uneven && draws.chance(0.4);
    let moderate = moderate.then(|| percent(draws.between(0.25, 0.38)));
    if let Some(share) = positive.or(moderate) {
        mutations.push(Mutation::Imbalance { share });
    }
    if let Some(item) = blueprint.item() {
        let mut blemishes: Vec<&Blemish> = item.medium.reader().blemishes().iter().collect();
        draws.shuffle(&mut blemishes);
        let count = draws.whole(1, 2.min(blemishes.len()));
        for blemish in blemishes.into_iter().take(count) {
            // Two together are as bad as one: the strength that readings bear is divided.
            let high = blemish.low + (blemish.high - blemish.low) / count as f64;
            let strength = digits(draws.between(blemish.low, high));
            mutations.push(Mutation::Blemish { name: blemish.name.to_owned(), strength });
        }
    }
    mutations.extend(gaps(blueprint, draws));
    mutations
}

/// What is wrong with the written number columns. Each is blemished once at most, so that
/// blemishes can be undone in any order.
fn gaps(blueprint: &Blueprint, draws: &mut Draws) -> Vec<Mutation> {
    let dna = &blueprint.dna;
    let mut mutations = Vec::new();
    let names: Vec<&str> = blueprint.numbers.iter().map(|column| column.name.as_str()).collect();
    let shaped = structure::shapes(blueprint);
    let (fewest, most_missing) = match (dna.has(Trait::MissingValues), shaped) {
        (true, true) => (3, 4),
        (false, true) => (0, 1),
        (true, false) => (1, 3),
        (false, false) => (1, 2),
    };
    let mut columns: Vec<&str> = names.clone();
    draws.shuffle(&mut columns);
    // A query's own columns are whole: its other rows would give the value away.
    let own =
        |name: &&str| blueprint.queries().is_some_and(|q| q.own.iter().any(|own| own == name));
    // Of a column that lists or records hold, there are no cells to be blemished; zeros stay zeros.
    let bound = |name: &&str| !blueprint.structure.is_ordinary(name);
    let mut next = columns.into_iter().filter(|name| !own(name) && !bound(name));
    let count = draws.whole(fewest, most_missing);
    for _ in 0..count {
        let Some(column) = next.next().map(str::to_owned) else { break };
        // A generator may use any column.
        let ruled = if blueprint.generated().is_some() { names.len() } else { RULED };
        let used = names.iter().take(ruled).any(|name| *name == column);
        // Gaps in columns of the rule cost everyone, so they stay few.
        let least = if shaped { 0.08 } else { 0.05 };
        let share =
            percent(if used { draws.between(0.03, 0.06) } else { draws.between(least, 0.2) });
        let spec = blueprint.numbers.iter().find(|spec| spec.name == column);
        let companion = format!("{column}_unit");
        let large = spec.is_some_and(|spec| spec.low > 0.0);
        // A straight line breaks on sentinels and units; the floor stays in its reach.
        let floor = blueprint.targets.iter().any(|target| {
            let first = target.rule.as_ref().and_then(|rule| rule.terms.first());
            matches!(first, Some(term) if matches!(
                &term.expr,
                Expr::Deviation { column: floor, .. } if *floor == column
            ))
        });
        mutations.push(match draws.whole(0, 3) {
            _ if floor => Mutation::Missing { column, share },
            0 | 1 => Mutation::Missing { column, share },
            2 => Mutation::Sentinel { column, share },
            _ if large => Mutation::Units { column, companion, factor: 10.0, share },
            _ => Mutation::Missing { column, share },
        });
    }
    let correlated = dna.has(Trait::CorrelatedColumns);
    let (echoes, least, most) = match (correlated, shaped) {
        (true, true) => (2, 0.15, 0.3),
        (false, true) => (usize::from(draws.chance(0.15)), 0.5, 0.7),
        (_, false) => (usize::from(correlated || draws.chance(0.25)), 0.3, 0.6),
    };
    for column in next.by_ref().take(echoes) {
        let name = format!("{column}_est");
        let noise = percent(draws.between(least, most));
        mutations.push(Mutation::Echo { column: column.to_owned(), name, noise });
    }
    if !shaped {
        return mutations;
    }
    if dna.has(Trait::MixedScales) {
        // Whatever its column's size, the copy is far beyond those of all others.
        let size = |column: &&NumberColumn| column.high - column.low;
        let largest = blueprint.numbers.iter().map(|c| size(&c)).fold(0.0, f64::max);
        let column = blueprint
            .numbers
            .iter()
            .filter(|c| !bound(&c.name.as_str()))
            .min_by(|a, b| size(a).total_cmp(&size(b)));
        if let Some(column) = column {
            let factor = digits(draws.between(1e3, 4e3) * largest / size(&column));
            let (name, noise) = (format!("{}_raw", column.name), 0.4);
            let column = column.name.clone();
            mutations.push(Mutation::Rescaled { column, name, factor, noise });
        }
    }
    if dna.has(Trait::HighDimension) && !names.is_empty() {
        let columns = names.iter().filter(|name| !bound(name));
        let columns = columns.map(|name| (*name).to_owned()).collect();
        let (prefix, count) = ("channel".to_owned(), draws.whole(24, 48));
        let noise = percent(draws.between(1.5, 2.5));
        mutations.push(Mutation::Channels { prefix, count, columns, noise });
    }
    if dna.has(Trait::NearDuplicates) && matches!(blueprint.layout, Layout::Rows(_)) {
        let share = percent(draws.between(0.12, 0.2));
        let contradicting = percent(draws.between(0.05, 0.15));
        mutations.push(Mutation::NearDuplicates { share, contradicting });
    }
    mutations
}
