//! Rule families: drafts of terms over a task's columns.
//!
//! Every rule has a *floor* that a straight line finds (R1 over R0), a *step* that a generic
//! pipeline finds (R2 over R1), and its family's own mechanism, which has to be discovered
//! (R3 over R2); some have a second floor or a second mechanism. Shares are of the variance, were
//! the terms uncorrelated.
//!
//! Terms go in the direction in which the story's causes move the target. Where the story says
//! nothing, as of the statistics of items, directions are drawn. One rule in seven has a surprise:
//! one of its mechanisms works against what the story leads to expect.

use super::shares::Shares;
use crate::numeric::draws::{Draws, floor};
use crate::numeric::moments::moments;
use crate::numeric::rounding::digits;
use crate::spec::rule::{Expr, Family, Frame, Rule, Test};
use crate::spec::scenario::{Effect, Follows, WordColumn, correlation};
use std::collections::BTreeMap;

/// Families of tables and their weights in the mix.
pub const MIX: [(Family, f64); 5] = [
    (Family::RuleList, 16.0),
    (Family::Products, 30.0),
    (Family::RatioGroup, 20.0),
    (Family::Additive, 14.0),
    (Family::Conditional, 10.0),
];

/// Families that few rules have, and their weights among themselves.
pub const RARE: [(Family, f64); 2] = [(Family::Mismatch, 6.0), (Family::Count, 4.0)];

/// Share of rules with a rare family.
const RARELY: f64 = 0.1;

/// How many standard deviations the reference of a factor lies off the middle, towards where it
/// does not count: so that a product of two causes moves the target as each of them does.
const OFF: f64 = 0.5;
/// The same for a cause whose effect accelerates.
const ACCELERATED: f64 = 0.7;
/// Share of rules with a mechanism that works against the story.
const SURPRISE: f64 = 0.15;

/// What a generic pipeline finds beyond a straight line.
#[derive(Debug, Clone)]
pub enum Step {
    /// An offset per word of this column.
    Words(WordColumn),
    /// A jump, a bend or a stair of this number column.
    Bent(String),
}

/// The columns a rule may use, with their clean population.
#[derive(Debug)]
pub struct Columns<'a> {
    /// The column that a straight line finds.
    pub floor: String,
    /// Another such column, where there is one to spare.
    pub second: Option<String>,
    /// What a generic pipeline finds.
    pub step: Step,
    /// How the variance is divided.
    pub shares: Shares,
    /// Number columns for the mechanism, in random order; each draft takes from the front.
    pub rest: Vec<String>,
    /// Word columns that conditions may test.
    pub words: &'a [WordColumn],
    /// How columns move the target, as far as the story says.
    pub effects: &'a BTreeMap<String, Effect>,
    /// How number columns go together.
    pub follows: &'a [Follows],
    /// Clean values of the columns, on which terms are standardised.
    pub population: &'a Frame,
}

impl Columns<'_> {
    fn values(&self, column: &str) -> &[f64] {
        self.population.numbers.get(column).map_or(&[], Vec::as_slice)
    }

    /// 1 where the column raises the target, −1 where it lowers it.
    fn sign(&self, column: &str) -> Option<f64> {
        self.effects.get(column).and_then(Effect::sign)
    }

    /// The column's distance from its typical value, in typical sizes.
    fn deviation(&self, column: &str) -> Expr {
        self.from(column, 0.0)
    }

    /// The same from `off` standard deviations towards where the column lowers the target, if the
    /// story says where.
    fn from(&self, column: &str, off: f64) -> Expr {
        let (mean, spread) = moments(self.values(column));
        let reference = mean - off * spread * self.sign(column).unwrap_or(0.0);
        Expr::deviation(column, short(reference), short(spread))
    }

    /// The value below which a share of the column lies.
    fn quantile(&self, column: &str, share: f64) -> f64 {
        let mut sorted = self.values(column).to_vec();
        sorted.sort_by(f64::total_cmp);
        short(sorted[floor((sorted.len() - 1) as f64 * share)])
    }

    /// Whether the column lies where it raises the target, or where it lowers it, a share of its
    /// values being below the threshold.
    fn side(&self, column: &str, raises: bool, share: f64, draws: &mut Draws) -> Test {
        let threshold = self.quantile(column, share);
        let sign = self.sign(column);
        let above = sign.map_or_else(|| draws.chance(0.5), |sign| (sign > 0.0) == raises);
        let column = column.to_owned();
        if above { Test::Above { column, threshold } } else { Test::AtMost { column, threshold } }
    }
}

/// One skeleton of rules in so many belongs to held-out tasks alone, in all corpora.
const HELD_OUT_SKELETONS: u8 = 4;

/// Whether a rule may be that of a training task.
pub fn trains(rule: &Rule) -> bool {
    let first = blake3::hash(rule.skeleton().as_bytes()).as_bytes()[0];
    !first.is_multiple_of(HELD_OUT_SKELETONS)
}

/// Whether the terms of a family have the mechanism of a rare one beside their own.
pub fn mixes(family: Family, terms: &[(f64, Expr)]) -> bool {
    let exprs: Vec<Expr> = terms.iter().map(|(_, expr)| expr.clone()).collect();
    RARE.iter().any(|(rare, _)| *rare != family && rare.is_in(&exprs))
}

/// A family for rules that have `rest` columns for their mechanism. `rarely` decides whether it is a
/// rare one.
pub fn pick(rest: usize, rarely: &mut Draws, draws: &mut Draws) -> Family {
    let weight = |(family, weight): (Family, f64)| if needs(family) > rest { 0.0 } else { weight };
    let rare = RARE.map(weight);
    if rarely.chance(RARELY) && rare.iter().any(|weight| *weight > 0.0) {
        return RARE[rarely.weighted(&rare)].0;
    }
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
    if columns.rest.len() < needs(family) {
        return None;
    }
    let Shares { floor: (low, high), step: (least, most), mechanism } = columns.shares;
    let straight = draws.between(low, high);
    let second = columns.second.as_ref().filter(|_| draws.chance(0.4));
    let parts = if second.is_some() { 2.0 } else { 1.0 };
    let floor = line(columns, &columns.floor, straight / parts, draws);
    let second = second.map(|column| line(columns, column, straight / parts, draws));
    let share = draws.between(least, most);
    let step = match &columns.step {
        Step::Words(column) => (share, offsets(columns, column, draws)),
        Step::Bent(column) => step(columns, column, share, draws),
    };
    let mut terms = mechanism_of(family, columns, draws)?;
    // A list of rules over written columns is what trees find, so it needs no step of its own.
    let own = family == Family::RuleList && matches!(columns.step, Step::Words(_));
    let mut further = further(columns, 3_usize.saturating_sub(terms.len()), draws);
    further.retain(|(_, expr)| terms.iter().all(|(_, known)| known != expr));
    if draws.chance(SURPRISE) && !columns.effects.is_empty() {
        let all = terms.len() + further.len();
        let turned = draws.whole(0, all - 1);
        if let Some((share, _)) = terms.iter_mut().chain(&mut further).nth(turned) {
            *share = -*share;
        }
    }
    for (share, _) in terms.iter_mut().chain(&mut further) {
        *share *= mechanism;
    }
    let step = (!own).then_some(step);
    Some([floor].into_iter().chain(step).chain(terms).chain(further).chain(second).collect())
}

/// What a rule over written columns may have beside its family's mechanism, while there is room.
fn further(columns: &Columns<'_>, room: usize, draws: &mut Draws) -> Vec<(f64, Expr)> {
    let mut further = Vec::new();
    let written = columns.rest.len() >= 4 && columns.shares.mechanism >= 1.0;
    if !written || room == 0 || draws.chance(0.4) {
        return further;
    }
    let at = |index: usize| &columns.rest[index];
    let other = columns.words.iter().find(|words| match &columns.step {
        Step::Words(step) => step.name != words.name,
        Step::Bent(_) => true,
    });
    further.extend(match draws.whole(0, 5) {
        0 => Some(line(columns, at(3), 0.2, draws)),
        1 => Some(product(columns, at(2), at(3), 0.26, draws)),
        2 => Some(slope(columns, at(3), at(0), 0.26, draws)),
        3 => Some(bend(columns, at(3), 0.24, draws)),
        4 if other.is_some() => other.map(|words| (0.2, offsets(columns, words, draws))),
        _ => distance(columns, 0.24, draws),
    });
    further
}

/// The terms of a family's own mechanism.
fn mechanism_of(
    family: Family,
    columns: &Columns<'_>,
    draws: &mut Draws,
) -> Option<Vec<(f64, Expr)>> {
    let rest = &columns.rest;
    let at = |index: usize| &rest[index % rest.len()];
    let (b, c, d, e) = (at(0), at(1), at(2), at(3));
    Some(match family {
        // A product beside the list leaves something to discover.
        Family::RuleList => {
            vec![(0.42, rule_list(columns, &[b, c, d], draws)), product(columns, b, e, 0.36, draws)]
        }
        Family::Products if draws.chance(0.5) => {
            let share = draws.between(0.5, 0.6);
            vec![product(columns, b, c, share, draws)]
        }
        Family::Products => {
            vec![product(columns, b, c, 0.32, draws), product(columns, d, e, 0.28, draws)]
        }
        Family::RatioGroup => {
            let (ratio, left) = ratio(columns, &[b, c, d, e], draws.between(0.3, 0.36), draws)?;
            vec![ratio, product(columns, &left[0], &left[1], 0.28, draws)]
        }
        Family::Additive => vec![bend(columns, b, 0.32, draws), bend(columns, c, 0.28, draws)],
        Family::Conditional => {
            let share = draws.between(0.5, 0.6);
            vec![slope(columns, b, c, share, draws)]
        }
        Family::Mismatch => vec![distance(columns, 0.55, draws)?],
        Family::Count => {
            let tests = [b, c, d, e].map(|column| {
                let share = draws.between(0.35, 0.65);
                columns.side(column, true, share, draws)
            });
            vec![(0.4, Expr::Count { of: tests.to_vec() }), product(columns, b, c, 0.4, draws)]
        }
        Family::LagRegime => return None,
    })
}

/// The terms of a forecasting task: level, season, a driver at once, a driver later, and in half
/// of the tasks what drivers do together.
pub fn draft_series(
    columns: &Columns<'_>,
    season: (&str, usize),
    regime: (&str, &[String]),
    draws: &mut Draws,
) -> Option<Vec<(f64, Expr)>> {
    let direct = &columns.floor;
    let lagged = columns.rest.first()?;
    let Step::Words(series) = &columns.step else { return None };
    let level = (0.24, offsets(columns, series, draws));
    let (column, period) = season;
    let wave = Expr::Wave {
        column: column.to_owned(),
        period: period as f64,
        phase: draws.whole(0, period - 1) as f64,
    };
    let steps = draws.whole(1, 3);
    let late = |column: &str| Expr::Lag { of: Box::new(columns.deviation(column)), steps };
    let times = |factor: f64, of: Expr| Expr::Product {
        left: Box::new(Expr::Number { value: factor }),
        right: Box::new(of),
    };
    // In the other regime the driver counts for little, or a little the other way.
    let weak = *draws.pick(&[-0.5, -0.4, -0.3, -0.2, 0.1]);
    let test = Test::Is { column: regime.0.to_owned(), value: regime.1[draws.whole(0, 1)].clone() };
    let switched = Expr::If {
        test: test.clone(),
        then: Box::new(times(1.0, late(lagged))),
        otherwise: Box::new(times(weak, late(lagged))),
    };
    let at_once = if columns.sign(direct).is_some() || draws.chance(0.5) {
        line(columns, direct, 0.42, draws)
    } else {
        bend(columns, direct, 0.42, draws)
    };
    let other = columns.rest.get(1).unwrap_or(direct);
    let together = match draws.whole(0, 6) {
        0 => Some(product(columns, direct, other, 0.24, draws)),
        1 => Some(product(columns, lagged, other, 0.24, draws)),
        2 => Some((directed(0.24, columns.sign(other), draws), late(other))),
        3 => Some((directed(0.24, columns.sign(other), draws), jump(columns, other))),
        4 if columns.rest.len() > 1 => Some(bend(columns, other, 0.24, draws)),
        _ => None,
    };
    let delayed = (directed(0.24, columns.sign(lagged), draws), switched);
    Some([level, (0.17, wave), at_once, delayed].into_iter().chain(together).collect())
}

/// A share in the direction of the sign, or in a drawn one.
fn directed(share: f64, sign: Option<f64>, draws: &mut Draws) -> f64 {
    share * sign.unwrap_or_else(|| if draws.chance(0.5) { 1.0 } else { -1.0 })
}

/// A straight line.
fn line(columns: &Columns<'_>, column: &str, share: f64, draws: &mut Draws) -> (f64, Expr) {
    (directed(share, columns.sign(column), draws), columns.deviation(column))
}

/// Two causes that count for more together.
fn product(
    columns: &Columns<'_>,
    left: &str,
    right: &str,
    share: f64,
    draws: &mut Draws,
) -> (f64, Expr) {
    let signs = columns.sign(left).zip(columns.sign(right));
    let off = if signs.is_some() { OFF } else { 0.0 };
    let factor = |column| Box::new(columns.from(column, off));
    let expr = Expr::Product { left: factor(left), right: factor(right) };
    (directed(share, signs.map(|(one, other)| one * other), draws), expr)
}

/// A slope that depends on a word or on whether another column is high.
fn slope(
    columns: &Columns<'_>,
    column: &str,
    other: &str,
    share: f64,
    draws: &mut Draws,
) -> (f64, Expr) {
    let slope = columns.deviation(column);
    let sign = columns.sign(column);
    let test = match draws.chance(0.4).then(|| columns.words.first()).flatten() {
        Some(words) => {
            let value = draws.pick(&words.words).clone();
            let word = Test::Is { column: words.name.clone(), value };
            if draws.chance(0.3) {
                Test::All { of: vec![word, columns.side(other, true, 0.4, draws)] }
            } else {
                word
            }
        }
        None => columns.side(other, true, 0.5, draws),
    };
    let otherwise = if sign.is_some() {
        // Elsewhere it counts for little, or a little the other way.
        let weak = *draws.pick(&[-0.4, -0.3, -0.2, 0.1]);
        let left = Box::new(Expr::Number { value: weak });
        Expr::Product { left, right: Box::new(slope.clone()) }
    } else {
        let zero = Box::new(Expr::Number { value: 0.0 });
        Expr::Difference { left: zero, right: Box::new(slope.clone()) }
    };
    let expr = Expr::If { test, then: Box::new(slope), otherwise: Box::new(otherwise) };
    (directed(share, sign, draws), expr)
}

/// How far two columns are from each other that go together: those of the rest that do so most, or
/// else the first two.
fn distance(columns: &Columns<'_>, share: f64, draws: &mut Draws) -> Option<(f64, Expr)> {
    let rest = &columns.rest;
    let pairs = rest.iter().enumerate().flat_map(|(at, one)| {
        rest[at + 1..]
            .iter()
            .map(move |other| (correlation(columns.follows, one, other), one, other))
    });
    let (tied, one, other) = pairs.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let (one, other) = if tied > 0.0 { (one, other) } else { (&rest[0], &rest[1]) };
    let gap = Expr::Difference {
        left: Box::new(columns.deviation(one)),
        right: Box::new(columns.deviation(other)),
    };
    Some((directed(share, None, draws), Expr::Absolute { of: Box::new(gap) }))
}

/// What trees find in a column and a straight line does not, or not in full.
fn step(columns: &Columns<'_>, column: &str, share: f64, draws: &mut Draws) -> (f64, Expr) {
    let of = Box::new(columns.deviation(column));
    // A straight line sees half of a jump and nothing of the others, of which few are learnable.
    match draws.whole(0, 11) {
        0 => (directed(share, None, draws), Expr::Square { of }),
        1 => (directed(share, None, draws), Expr::Absolute { of }),
        2 => (directed(share, None, draws), stair(columns, column)),
        _ => (directed(share, columns.sign(column), draws), jump(columns, column)),
    }
}

/// Three levels over thirds of the column, the middle one the highest.
fn stair(columns: &Columns<'_>, column: &str) -> Expr {
    let value = |value| Box::new(Expr::Number { value });
    let above = |share| Test::Above {
        column: column.to_owned(),
        threshold: columns.quantile(column, share),
    };
    let lower = Expr::If { test: above(0.34), then: value(1.0), otherwise: value(-0.5) };
    Expr::If { test: above(0.67), then: value(-1.0), otherwise: Box::new(lower) }
}

/// One below the column's median, another above it.
fn jump(columns: &Columns<'_>, column: &str) -> Expr {
    let threshold = columns.quantile(column, 0.5);
    let value = |value| Box::new(Expr::Number { value });
    let test = Test::Above { column: column.to_owned(), threshold };
    Expr::If { test, then: value(1.0), otherwise: value(-1.0) }
}

/// A ratio of two columns whose tails are tame, and the two columns it leaves over. What is above
/// the line moves the target the other way than what is below it.
fn ratio(
    columns: &Columns<'_>,
    names: &[&String],
    share: f64,
    draws: &mut Draws,
) -> Option<((f64, Expr), Vec<String>)> {
    for over in names {
        for under in names {
            let (sign, below) = (columns.sign(over), columns.sign(under));
            if over == under || sign.is_some() && sign == below {
                continue;
            }
            let values = columns.values(under);
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let (mean, _) = moments(values);
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
                let sign = sign.or(below.map(|sign| -sign));
                let left = rest.map(|name| (*name).clone()).collect();
                return Some(((directed(share, sign, draws), expr), left));
            }
        }
    }
    None
}

/// A bend that a straight line cannot follow: an effect that is largest or smallest for middling
/// values, or that accelerates; a wave only where the story says nothing of the column.
fn bend(columns: &Columns<'_>, column: &str, share: f64, draws: &mut Draws) -> (f64, Expr) {
    let of = Box::new(columns.from(column, ACCELERATED));
    let middling = match columns.effects.get(column) {
        Some(Effect::Raises | Effect::Lowers) => return (share, Expr::Square { of }),
        Some(Effect::Peaks) => Some(-1.0),
        Some(Effect::Dips) => Some(1.0),
        Some(Effect::Words(_)) | None => None,
    };
    let kinds = if middling.is_some() { 1 } else { 2 };
    let expr = match draws.whole(0, kinds) {
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
    };
    (directed(share, middling, draws), expr)
}

/// Three nested rules over three columns: two that raise the target, one that lowers it.
fn rule_list(columns: &Columns<'_>, names: &[&String; 3], draws: &mut Draws) -> Expr {
    let mut list = Expr::Number { value: 0.0 };
    let values = [1.0, -1.0, 1.5];
    for (name, value) in names.iter().zip(values) {
        let share = draws.between(0.4, 0.6);
        let test = columns.side(name, value > 0.0, share, draws);
        let then = Box::new(Expr::Number { value });
        list = Expr::If { test, then, otherwise: Box::new(list) };
    }
    list
}

/// A value per word, evenly spread, so that no two groups are alike by chance: in the story's
/// order, or else in a drawn one.
fn offsets(columns: &Columns<'_>, column: &WordColumn, draws: &mut Draws) -> Expr {
    let last = (column.words.len() - 1) as f64;
    let mut values: Vec<f64> = (0..column.words.len())
        .map(|index| digits(2.0 * index as f64 / last - 1.0))
        .map(|value| (value * 100.0).round() / 100.0)
        .collect();
    let order = if let Some(Effect::Words(order)) = columns.effects.get(&column.name) {
        order
    } else {
        draws.shuffle(&mut values);
        &column.words
    };
    let of = |word: &String| order.iter().position(|known| known == word).map(|at| values[at]);
    let values = column.words.iter().filter_map(|word| Some((word.clone(), of(word)?)));
    Expr::Offset { column: column.name.clone(), values: values.collect::<BTreeMap<_, _>>() }
}

/// `value` rounded to three significant digits, to keep the constants of formulas short.
pub(super) fn short(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { format!("{value:.2e}").parse().unwrap_or(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tasks::stream::Stream;

    /// Columns of which `a` to `d` raise the target, `e` lowers it, and `g` has two words.
    fn drafts(family: Family) -> Vec<(Rule, Frame)> {
        let mut drafts = Vec::new();
        for seed in 0..60 {
            let mut draws = Draws::new(Stream::root(seed));
            let mut population = Frame { rows: 2000, ..Frame::default() };
            for name in ["a", "b", "c", "d", "e"] {
                let values = (0..2000).map(|_| 10.0 + draws.normal().clamp(-3.0, 3.0)).collect();
                population.numbers.insert(name.to_owned(), values);
            }
            let words = (0..2000).map(|_| if draws.chance(0.5) { "x" } else { "y" }.to_owned());
            population.words.insert("g".to_owned(), words.collect());
            let column = WordColumn::try_from("g: x y".to_owned()).unwrap();
            let mut effects: BTreeMap<String, Effect> =
                ["a", "b", "c", "d"].map(|name| (name.to_owned(), Effect::Raises)).into();
            effects.insert("e".to_owned(), Effect::Lowers);
            let order = ["y", "x"].map(str::to_owned).to_vec();
            effects.insert("g".to_owned(), Effect::Words(order));
            let follows: Vec<Follows> = vec!["b c 0.5".to_owned().try_into().unwrap()];
            let columns = Columns {
                floor: "a".to_owned(),
                second: None,
                step: Step::Words(column.clone()),
                shares: Shares::WRITTEN,
                rest: ["b", "c", "d", "e"].map(str::to_owned).to_vec(),
                words: &[column],
                effects: &effects,
                follows: &follows,
                population: &population,
            };
            let Some(terms) = draft(family, &columns, &mut draws) else { continue };
            let rule = Rule::balanced(family, terms, &population).unwrap();
            drafts.push((rule, population));
        }
        drafts
    }

    fn correlation_with(frame: &Frame, column: &str, score: &[f64]) -> f64 {
        let values = &frame.numbers[column];
        let ((mean, spread), (center, width)) = (moments(values), moments(score));
        let products = values.iter().zip(score).map(|(a, b)| (a - mean) * (b - center));
        products.sum::<f64>() / (spread * width * values.len() as f64)
    }

    #[test]
    fn rules_go_in_the_direction_of_the_causes() {
        for (family, _) in MIX.into_iter().chain(RARE) {
            let drafts = drafts(family);
            assert!(drafts.len() > 50, "{family:?}: {}", drafts.len());
            let mut against = 0;
            for (rule, frame) in &drafts {
                let score = rule.score(frame);
                assert!(correlation_with(frame, "a", &score) > 0.1, "{family:?}: {rule}");
                // The word that the story names last raises the target.
                let words = &frame.words["g"];
                let mean = |word: &str| {
                    let of = words.iter().zip(&score).filter(|(known, _)| *known == word);
                    let (sum, count) = of.fold((0.0, 0), |(sum, n), (_, s)| (sum + s, n + 1));
                    sum / f64::from(count)
                };
                let has_step = rule.terms.iter().any(|t| matches!(t.expr, Expr::Offset { .. }));
                assert!(!has_step || mean("x") > mean("y"), "{family:?}: {rule}");
                for (column, sign) in [("b", 1.0), ("c", 1.0), ("d", 1.0), ("e", -1.0)] {
                    let along = sign * correlation_with(frame, column, &score);
                    against += usize::from(along < -0.1);
                }
            }
            // A surprise turns one mechanism of one rule in seven.
            let most = drafts.len() * 4 / 8;
            assert!(against < most, "{family:?}: {against} of {}", 4 * drafts.len());
        }
    }

    #[test]
    fn some_skeletons_are_those_of_held_out_tasks() {
        let rules = drafts(Family::Products);
        let trained = rules.iter().filter(|(rule, _)| trains(rule)).count();
        assert!(trained > 0 && trained < rules.len(), "{trained} of {}", rules.len());
    }
}
