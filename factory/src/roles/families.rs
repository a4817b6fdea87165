//! Rule families: drafts of terms over a task's columns.
//!
//! Every rule has a *floor* that a straight line finds (R1 over R0), a *step* that a generic
//! pipeline finds (R2 over R1), and its family's own mechanism, which has to be discovered
//! (R3 over R2). Shares are of the variance, were the terms uncorrelated.

use crate::numeric::draws::{Draws, floor};
use crate::numeric::moments::moments;
use crate::numeric::rounding::digits;
use crate::spec::rule::{Expr, Family, Frame, Test};
use std::collections::BTreeMap;

/// Families of tables and their weights in the mix.
pub const MIX: [(Family, f64); 7] = [
    (Family::RuleList, 16.0),
    (Family::Products, 30.0),
    (Family::RatioGroup, 20.0),
    (Family::Additive, 14.0),
    (Family::Conditional, 10.0),
    (Family::Mismatch, 6.0),
    (Family::Count, 4.0),
];

/// How a rule's variance is divided, were its terms uncorrelated.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    /// The floor's share, at least and at most.
    floor: (f64, f64),
    /// The step's share, at least and at most.
    step: (f64, f64),
    /// What the mechanism's shares are multiplied by.
    mechanism: f64,
}

impl Shares {
    /// For columns that every solver reads as they are.
    pub const WRITTEN: Self = Self { floor: (0.28, 0.33), step: (0.22, 0.26), mechanism: 1.0 };
    /// For means over neighbours, which only the top rung looks at: the others need more of the
    /// rest.
    pub const SURROUNDED: Self = Self { floor: (0.28, 0.33), step: (0.32, 0.36), mechanism: 0.7 };
    /// For statistics that all but the top rung read imperfectly: without more of what they do
    /// read, the lower rungs would drown in noise.
    pub const CARRIED: Self = Self { floor: (0.33, 0.36), step: (0.46, 0.50), mechanism: 0.4 };
}

/// What a generic pipeline finds beyond a straight line.
#[derive(Debug, Clone)]
pub enum Step {
    /// An offset per word of this column.
    Words(String, Vec<String>),
    /// A jump halfway up this number column.
    Jump(String),
}

/// The columns a rule may use, with their clean population.
#[derive(Debug)]
pub struct Columns<'a> {
    /// The column that a straight line finds.
    pub floor: String,
    /// What a generic pipeline finds.
    pub step: Step,
    /// How the variance is divided.
    pub shares: Shares,
    /// Number columns for the mechanism, in random order; each draft takes from the front.
    pub rest: Vec<String>,
    /// Clean values of the columns, on which terms are standardised.
    pub population: &'a Frame,
}

impl Columns<'_> {
    fn values(&self, column: &str) -> &[f64] {
        self.population.numbers.get(column).map_or(&[], Vec::as_slice)
    }

    /// The column's distance from its typical value, in typical sizes.
    fn deviation(&self, column: &str) -> Expr {
        let (mean, spread) = moments(self.values(column));
        Expr::deviation(column, short(mean), short(spread))
    }

    /// The value below which a share of the column lies.
    fn quantile(&self, column: &str, share: f64) -> f64 {
        let mut sorted = self.values(column).to_vec();
        sorted.sort_by(f64::total_cmp);
        short(sorted[floor((sorted.len() - 1) as f64 * share)])
    }
}

/// A family for rules that have `rest` columns for their mechanism.
pub fn pick(rest: usize, draws: &mut Draws) -> Family {
    let weight = |(family, weight): (Family, f64)| if needs(family) <= rest { weight } else { 0.0 };
    MIX[draws.weighted(&MIX.map(weight))].0
}

/// How many columns a family's mechanism may take.
fn needs(family: Family) -> usize {
    match family {
        Family::Additive | Family::Conditional | Family::Mismatch => 2,
        _ => 4,
    }
}

/// Terms with their shares; `None` if the columns do not suffice.
pub fn draft(family: Family, columns: &Columns<'_>, draws: &mut Draws) -> Option<Vec<(f64, Expr)>> {
    let rest = &columns.rest;
    if rest.len() < needs(family) {
        return None;
    }
    let at = |index: usize| &rest[index % rest.len()];
    let (b, c, d, e) = (at(0), at(1), at(2), at(3));
    let Shares { floor: (low, high), step: (least, most), mechanism } = columns.shares;
    let floor = (signed(draws.between(low, high), draws), columns.deviation(&columns.floor));
    let share = draws.between(least, most);
    let step = match &columns.step {
        Step::Words(column, words) => (share, offsets(column, words, draws)),
        Step::Jump(column) => (signed(share, draws), jump(columns, column)),
    };
    let mut terms = Vec::new();
    match family {
        Family::RuleList => {
            // A product beside the list leaves something to discover.
            terms.push((0.42, rule_list(columns, &[b, c, d], draws)));
            terms.push((signed(0.36, draws), product(columns, b, e)));
        }
        Family::Products => {
            if draws.chance(0.5) {
                terms.push((signed(draws.between(0.5, 0.6), draws), product(columns, b, c)));
            } else {
                terms.push((signed(0.32, draws), product(columns, b, c)));
                terms.push((signed(0.28, draws), product(columns, d, e)));
            }
        }
        Family::RatioGroup => {
            let ratio = ratio(columns, &[b, c, d, e])?;
            terms.push((signed(draws.between(0.3, 0.36), draws), ratio.0));
            terms.push((signed(0.28, draws), product(columns, &ratio.1[0], &ratio.1[1])));
        }
        Family::Additive => {
            terms.push((signed(0.32, draws), bend(columns, b, draws)));
            terms.push((signed(0.28, draws), bend(columns, c, draws)));
        }
        Family::Conditional => {
            let slope = columns.deviation(b);
            let zero = Expr::Number { value: 0.0 };
            let against = Expr::Difference { left: Box::new(zero), right: Box::new(slope.clone()) };
            let test = Test::Above { column: c.clone(), threshold: columns.quantile(c, 0.5) };
            let term = Expr::If { test, then: Box::new(slope), otherwise: Box::new(against) };
            terms.push((signed(draws.between(0.5, 0.6), draws), term));
        }
        Family::Mismatch => {
            let gap = Expr::Difference {
                left: Box::new(columns.deviation(b)),
                right: Box::new(columns.deviation(c)),
            };
            terms.push((signed(0.55, draws), Expr::Absolute { of: Box::new(gap) }));
        }
        Family::Count => {
            let tests = [b, c, d, e].map(|column| {
                let share = draws.between(0.35, 0.65);
                Test::Above { column: column.clone(), threshold: columns.quantile(column, share) }
            });
            terms.push((0.4, Expr::Count { of: tests.to_vec() }));
            terms.push((signed(0.4, draws), product(columns, b, c)));
        }
        Family::LagRegime => return None,
    }
    for (share, _) in &mut terms {
        *share *= mechanism;
    }
    // A list of rules over written columns is what trees find, so it needs no step of its own.
    let own = family == Family::RuleList && matches!(columns.step, Step::Words(..));
    let step = (!own).then_some(step);
    Some([floor].into_iter().chain(step).chain(terms).collect())
}

/// The terms of a forecasting task: level, season, a driver at once, a driver later.
pub fn draft_series(
    columns: &Columns<'_>,
    season: (&str, usize),
    regime: (&str, &[String]),
    draws: &mut Draws,
) -> Option<Vec<(f64, Expr)>> {
    let direct = &columns.floor;
    let lagged = columns.rest.first()?;
    let Step::Words(series, names) = &columns.step else { return None };
    let level = (0.24, offsets(series, names, draws));
    let (column, period) = season;
    let wave = Expr::Wave {
        column: column.to_owned(),
        period: period as f64,
        phase: draws.whole(0, period - 1) as f64,
    };
    let steps = draws.whole(1, 3);
    let later = |sign: f64| {
        let delayed = Expr::Lag { of: Box::new(columns.deviation(lagged)), steps };
        let factor = Expr::Number { value: sign };
        Expr::Product { left: Box::new(factor), right: Box::new(delayed) }
    };
    let weak = digits(-(draws.whole(3, 8) as f64) / 10.0);
    let test = Test::Is { column: regime.0.to_owned(), value: regime.1[draws.whole(0, 1)].clone() };
    let switched = Expr::If { test, then: Box::new(later(1.0)), otherwise: Box::new(later(weak)) };
    Some(vec![
        level,
        (0.13, wave),
        (signed(0.42, draws), columns.deviation(direct)),
        (signed(0.24, draws), switched),
    ])
}

fn signed(share: f64, draws: &mut Draws) -> f64 {
    if draws.chance(0.5) { share } else { -share }
}

fn product(columns: &Columns<'_>, left: &str, right: &str) -> Expr {
    let factor = |column| Box::new(columns.deviation(column));
    Expr::Product { left: factor(left), right: factor(right) }
}

/// One below the column's median, another above it.
fn jump(columns: &Columns<'_>, column: &str) -> Expr {
    let threshold = columns.quantile(column, 0.5);
    let value = |value| Box::new(Expr::Number { value });
    let test = Test::Above { column: column.to_owned(), threshold };
    Expr::If { test, then: value(1.0), otherwise: value(-1.0) }
}

/// A ratio of two columns whose tails are tame, and the two columns it leaves over.
fn ratio(columns: &Columns<'_>, names: &[&String]) -> Option<(Expr, Vec<String>)> {
    for over in names {
        for under in names {
            if over == under {
                continue;
            }
            let below = columns.values(under);
            let low = below.iter().copied().fold(f64::INFINITY, f64::min);
            let (mean, _) = moments(below);
            // A denominator that comes near zero gets a shift, and the column must be
            // positive: deviations and temperatures do not make ratios.
            if low < 0.0 || columns.values(over).iter().any(|value| *value < 0.0) {
                continue;
            }
            let shift = if low > 0.25 * mean { 0.0 } else { short(0.3 * mean) };
            let expr = Expr::Ratio { over: (*over).clone(), under: (*under).clone(), shift };
            let values = expr.values(columns.population);
            let (center, spread) = moments(&values);
            if spread > 0.0 && values.iter().all(|v| ((v - center) / spread).abs() < 5.0) {
                let rest = names.iter().filter(|name| *name != over && *name != under);
                return Some((expr, rest.map(|name| (*name).clone()).collect()));
            }
        }
    }
    None
}

/// A bend that a straight line cannot follow.
fn bend(columns: &Columns<'_>, column: &str, draws: &mut Draws) -> Expr {
    let of = Box::new(columns.deviation(column));
    match draws.whole(0, 2) {
        0 => Expr::Square { of },
        1 => Expr::Absolute { of },
        _ => {
            let (low, high) = (columns.quantile(column, 0.02), columns.quantile(column, 0.98));
            Expr::Wave {
                column: column.to_owned(),
                period: short((high - low) * draws.between(0.7, 1.0)),
                phase: short(low + (high - low) * draws.unit()),
            }
        }
    }
}

/// Three nested rules over three columns.
fn rule_list(columns: &Columns<'_>, names: &[&String; 3], draws: &mut Draws) -> Expr {
    let mut list = Expr::Number { value: 0.0 };
    let values = [1.0, -1.0, 1.5];
    for (name, value) in names.iter().zip(values) {
        let share = draws.between(0.4, 0.6);
        let (column, threshold) = ((*name).clone(), columns.quantile(name, share));
        let test = if draws.chance(0.5) {
            Test::Above { column, threshold }
        } else {
            Test::AtMost { column, threshold }
        };
        let then = Box::new(Expr::Number { value });
        list = Expr::If { test, then, otherwise: Box::new(list) };
    }
    list
}

/// A value per word: evenly spread and shuffled, so that no two groups are alike by chance.
fn offsets(column: &str, words: &[String], draws: &mut Draws) -> Expr {
    let mut values: Vec<f64> = (0..words.len())
        .map(|index| digits(2.0 * index as f64 / (words.len() - 1) as f64 - 1.0))
        .map(|value| (value * 100.0).round() / 100.0)
        .collect();
    draws.shuffle(&mut values);
    Expr::Offset {
        column: column.to_owned(),
        values: words.iter().cloned().zip(values).collect::<BTreeMap<_, _>>(),
    }
}

/// `value` rounded to three significant digits, to keep the constants of formulas short.
fn short(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { format!("{value:.2e}").parse().unwrap_or(value) }
}
