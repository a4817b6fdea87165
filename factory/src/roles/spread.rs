//! The rule of a target's spread: which rows are surer than others, where quantiles are asked for.
//!
//! It is made of one or two columns, those that move the middle or others: a straight line, a jump,
//! both ends of a column, an offset per word.

use super::RoleRefusal;
use super::families::short;
use super::strategist::{self, percent};
use crate::numeric::draws::{Draws, floor};
use crate::numeric::moments::moments;
use crate::numeric::rounding::digits;
use crate::spec::blueprint::{Blueprint, Link};
use crate::spec::rule::{Expr, Family, Frame, Rule, Test};
use crate::spec::scenario::{NumberTarget, WordColumn};

/// How fast the logarithm of the spread grows with its score: from its usual lowest to its usual
/// highest, at which the score is held, it grows tenfold or more.
const GROWTH: (f64, f64) = (0.95, 1.1);
/// The spread of a row whose spread has score 0, in units of the middle's score.
const NOISE: (f64, f64) = (0.34, 0.42);
/// High over low of a target from which on relative sizes suit it as well as absolute ones.
const RELATIVE: f64 = 8.0;

/// The draft of a target's rule of the spread, over any column that the table has as it is.
///
/// # Errors
/// [`RoleRefusal`] with the code `no_rule`.
pub(super) fn draft(
    blueprint: &Blueprint,
    population: &Frame,
    draws: &mut Draws,
) -> Result<Rule, RoleRefusal> {
    let ordinary = |name: &&String| blueprint.structure.is_ordinary(name);
    let names: Vec<&String> =
        blueprint.numbers.iter().map(|column| &column.name).filter(ordinary).collect();
    let draft = strategist::balanced(blueprint.split, population, draws, |draws| {
        let mut names = names.clone();
        draws.shuffle(&mut names);
        let mut numbers = names.into_iter().map(|name| Number::of(name, population));
        let words = (!blueprint.words.is_empty()).then(|| &draws.pick(&blueprint.words).column);
        let first = numbers.next()?.term(draws);
        let second = numbers.next().map(|number| number.term(draws));
        let terms = match (draws.whole(0, 4), words, second) {
            (0, Some(words), _) => vec![(1.0, offsets(words, draws))],
            (1 | 2, Some(words), _) => vec![first, (0.45, offsets(words, draws))],
            (3, _, Some(second)) => vec![first, second],
            _ => vec![first],
        };
        Some((Family::Additive, terms))
    })?;
    Ok(draft.rule)
}

/// A number column that a spread may depend on.
struct Number<'a> {
    name: &'a String,
    values: &'a [f64],
}

impl<'a> Number<'a> {
    fn of(name: &'a String, population: &'a Frame) -> Self {
        Self { name, values: population.numbers.get(name).map_or(&[], Vec::as_slice) }
    }

    /// One of its shapes, with its share of the spread and a drawn direction.
    fn term(&self, draws: &mut Draws) -> (f64, Expr) {
        let share = if draws.chance(0.5) { 0.55 } else { -0.55 };
        let (mean, spread) = moments(self.values);
        let deviation = Expr::deviation(self.name, short(mean), short(spread));
        match draws.whole(0, 4) {
            0 => (share, Expr::Absolute { of: Box::new(deviation) }),
            1 => (share, self.jump(draws)),
            _ => (share, deviation),
        }
    }

    /// One below a value near the middle of the column, another above it.
    fn jump(&self, draws: &mut Draws) -> Expr {
        let mut sorted = self.values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let place = floor(draws.between(0.35, 0.65) * sorted.len() as f64);
        let threshold = sorted.get(place).copied().map_or(0.0, short);
        let value = |value| Box::new(Expr::Number { value });
        let test = Test::Above { column: self.name.clone(), threshold };
        Expr::If { test, then: value(1.0), otherwise: value(-1.0) }
    }
}

/// A value per word, evenly spread in a drawn order.
fn offsets(words: &WordColumn, draws: &mut Draws) -> Expr {
    let last = (words.words.len() - 1).max(1) as f64;
    let mut values: Vec<f64> =
        (0..words.words.len()).map(|at| percent(2.0 * at as f64 / last - 1.0)).collect();
    draws.shuffle(&mut values);
    let values = words.words.iter().cloned().zip(values).collect();
    Expr::Offset { column: words.name.clone(), values }
}

/// From the scores of middle and spread to the target: on its own scale or, for half of the targets
/// of which a few are many times as large as the others, on that of its logarithm. A seed's noise
/// makes it no larger: how much of it there is, row by row, is the question.
pub(super) fn link(number: &NumberTarget, draws: &mut Draws) -> Link {
    let (low, high) = (number.low, number.high);
    let growth = percent(draws.between(GROWTH.0, GROWTH.1));
    let noise = percent(draws.between(NOISE.0, NOISE.1));
    let logarithmic = draws.chance(0.5) && low > 0.0 && high / low >= RELATIVE;
    // The least sure rows still lie within the target's range, give or take a little.
    let (center, scale) = if logarithmic {
        let (low, high) = (libm::log(low), libm::log(high));
        (f64::midpoint(low, high), ((high - low) / 9.0).min(0.3))
    } else {
        (f64::midpoint(low, high), (high - low) / 14.0)
    };
    // Rounding is not to hide how sure the surest rows are.
    let surest = noise * scale * libm::exp(-growth * Link::HELD);
    let surest = if logarithmic { surest * libm::exp(center) } else { surest };
    let fine = |decimals: &usize| libm::pow(10.0, -(*decimals as f64)) <= surest;
    let decimals = (number.decimals..number.decimals + 3).find(fine);
    let decimals = decimals.unwrap_or(number.decimals + 3);
    let (center, scale) = (digits(center), digits(scale));
    Link::Heteroscedastic { center, scale, noise, growth, logarithmic, decimals }
}
