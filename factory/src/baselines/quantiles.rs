//! The ladder where quantiles are asked for: a middle for every row, and how far rows lie from it.
//!
//! R0 quantiles of the training targets; R1 and R2 the line and the forest of other ladders, with the
//! quantiles of what they leave, the same for every row; R3 a line through the rule's own terms, with
//! the quantiles of what it leaves in units of each row's spread. The spread follows from the terms of
//! its own rule: a line through them is fitted to the logarithm of what is left, as in Harvey's model
//! of multiplicative heteroscedasticity (1976).

use super::features;
use super::ladder::{self, Ladder, LadderError};
use crate::data::assets::Assets;
use crate::data::score::Forecast;
use crate::numeric::intervals::quantile;
use crate::numeric::linear::Linear;
use crate::numeric::moments::moments;
use crate::spec::blueprint::{Blueprint, Link, Target};
use crate::spec::rule::Rule;
use tasks::prediction::QUANTILES;

/// What is left of a row counts as no less than this share of the usual: logarithms of next to nothing
/// would outweigh all others.
const LEAST: f64 = 0.05;

/// Fits all rungs to a table with one target, of which quantiles are asked for.
///
/// # Errors
/// [`LadderError`].
pub(super) fn climb(blueprint: &Blueprint, assets: &Assets) -> Result<Ladder, LadderError> {
    let aims = assets.train_truth.as_numbers();
    let constants = vec![ladder::constant(&assets.train_truth, blueprint.metric)];
    let r0 = Forecast::constant(&constants, &assets.test_truth);

    let plain = features::plain(assets);
    let line = Linear::ridge(&plain.train, &aims, ladder::PENALTY);
    let ends = among(left(&aims, &line.score(&plain.train)));
    let r1 = around(line.score(&plain.test), ends);

    let generic = features::generic(assets);
    let (forests, bag) = ladder::forests(blueprint, &generic, assets.train_truth.parts(), false)?;
    let bag = numbers(bag);
    let ends = among(left(&aims, &bag));
    let r2 = forests.map(|forest| around(numbers(forest), ends));
    let out_of_bag = around(bag, ends);

    let [target] = &blueprint.targets[..] else {
        unreachable!("quantiles are asked of one target")
    };
    let r3 = by_rules(target, blueprint, assets, &aims);
    let climbed = ladder::Climbed { constants, r0, r1, r2, r3, out_of_bag };
    climbed.scored(blueprint, assets)
}

/// The quantiles of what the rules of middle and spread say of the test rows.
fn by_rules(target: &Target, blueprint: &Blueprint, assets: &Assets, aims: &[f64]) -> Forecast {
    let frame = ladder::rebuilt(blueprint, assets);
    let inputs = |rule: Option<&Rule>| {
        let terms: Vec<Vec<f64>> = rule.iter().flat_map(|rule| rule.transforms(&frame)).collect();
        ladder::divided(&terms, assets)
    };
    let (middle, spread) = (inputs(target.rule.as_ref()), inputs(target.spread.as_ref()));
    let logarithmic = matches!(target.link, Link::Heteroscedastic { logarithmic: true, .. });
    let straight = |aim: &f64| if logarithmic { libm::log(aim.max(1e-9)) } else { *aim };
    let aims: Vec<f64> = aims.iter().map(straight).collect();
    let line = Linear::ridge(&middle.train, &aims, ladder::PENALTY);
    let left = left(&aims, &line.score(&middle.train));
    let (_, usual) = moments(&left);
    let sizes: Vec<f64> =
        left.iter().map(|rest| libm::log(rest.abs().max(LEAST * usual).max(1e-12))).collect();
    let sizes = Linear::ridge(&spread.train, &sizes, ladder::PENALTY);
    let widths = |rows| sizes.score(rows).into_iter().map(libm::exp);
    let ends =
        among(left.iter().zip(widths(&spread.train)).map(|(rest, width)| rest / width).collect());
    let rows = line.score(&middle.test).into_iter().zip(widths(&spread.test));
    let row = |(middle, width): (f64, f64)| {
        ends.map(|end| {
            let value = middle + end * width;
            if logarithmic { libm::exp(value) } else { value }
        })
    };
    Forecast::Quantiles(rows.map(row).collect())
}

/// What forecasts leave of the training targets.
fn left(aims: &[f64], forecast: &[f64]) -> Vec<f64> {
    aims.iter().zip(forecast).map(|(aim, forecast)| aim - forecast).collect()
}

/// The quantiles among values.
pub(super) fn among(mut values: Vec<f64>) -> [f64; QUANTILES.len()] {
    values.sort_by(f64::total_cmp);
    QUANTILES.map(|share| quantile(&values, share))
}

/// The same quantiles around every row's middle.
fn around(middles: Vec<f64>, ends: [f64; QUANTILES.len()]) -> Forecast {
    Forecast::Quantiles(middles.into_iter().map(|middle| ends.map(|end| middle + end)).collect())
}

fn numbers(forecast: Forecast) -> Vec<f64> {
    match forecast {
        Forecast::Numbers(values) => values,
        _ => unreachable!("forests of a number forecast a number"),
    }
}
