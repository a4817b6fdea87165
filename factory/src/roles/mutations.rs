//! Which blemishes a task gets: two or three that suit the seed's traits and the data.

use super::strategist::{RULED, percent};
use crate::media::Blemish;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::mutation::Mutation;
use crate::spec::rule::Expr;
use crate::spec::seed::Trait;
use tasks::metrics::Metric;
use tasks::task::Formulation;

/// Draws a task's mutations, in order of application.
pub(super) fn choose(blueprint: &Blueprint, draws: &mut Draws) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    let dna = &blueprint.dna;
    let classifies = blueprint.targets.iter().any(|target| !target.classes.is_empty());
    if classifies && blueprint.queries().is_none() {
        // Items are noisy to read as it is.
        let (least, most) = match (dna.has(Trait::LabelNoise), blueprint.item().is_some()) {
            (true, false) => (0.03, 0.08),
            (false, false) => (0.03, 0.06),
            (true, true) => (0.02, 0.05),
            (false, true) => (0.02, 0.04),
        };
        mutations.push(Mutation::LabelNoise { share: percent(draws.between(least, most)) });
    }
    // Accuracy-like metrics would reward the majority class alone.
    let uneven =
        matches!(blueprint.metric, Metric::RocAuc | Metric::AveragePrecision | Metric::LogLoss);
    if blueprint.formulation == Formulation::Binary && uneven {
        let likely = if dna.has(Trait::ClassImbalance) { 0.8 } else { 0.4 };
        if draws.chance(likely) {
            mutations.push(Mutation::Imbalance { share: percent(draws.between(0.25, 0.38)) });
        }
    }
    if let Some(item) = blueprint.item() {
        let mut blemishes: Vec<&Blemish> = item.medium.reader().blemishes().iter().collect();
        draws.shuffle(&mut blemishes);
        let count = draws.whole(1, 2.min(blemishes.len()));
        for blemish in blemishes.into_iter().take(count) {
            // Two together are as bad as one: the strength that readings bear is divided.
            let high = blemish.low + (blemish.high - blemish.low) / count as f64;
            let strength = crate::numeric::rounding::digits(draws.between(blemish.low, high));
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
    let missing = if dna.has(Trait::MissingValues) { 3 } else { 2 };
    let mut columns: Vec<&str> = names.clone();
    draws.shuffle(&mut columns);
    // A query's own columns are whole: its other rows would give the value away.
    let own =
        |name: &&str| blueprint.queries().is_some_and(|q| q.own.iter().any(|own| own == name));
    let mut next = columns.into_iter().filter(|name| !own(name));
    let count = draws.whole(1, missing);
    for _ in 0..count {
        let Some(column) = next.next().map(str::to_owned) else { break };
        // A generator may use any column.
        let ruled = if blueprint.generated().is_some() { names.len() } else { RULED };
        let used = names.iter().take(ruled).any(|name| *name == column);
        // Gaps in columns of the rule cost everyone, so they stay few.
        let share =
            percent(if used { draws.between(0.03, 0.06) } else { draws.between(0.05, 0.2) });
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
    if (dna.has(Trait::CorrelatedColumns) || draws.chance(0.25))
        && let Some(column) = next.next()
    {
        let name = format!("{column}_est");
        let noise = percent(draws.between(0.3, 0.6));
        mutations.push(Mutation::Echo { column: column.to_owned(), name, noise });
    }
    mutations
}
