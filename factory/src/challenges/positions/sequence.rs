//! A sequence: how it is drawn, how its cells are read, and what each form sees along it.

use crate::challenges::challenge::Cells;
use crate::numeric::draws::Draws;
use crate::numeric::rounding::decimals;
use crate::spec::positions::{By, Form, Place, PositionTerm, Positions};

/// Steps of the number between its bounds.
const STEPS: f64 = 60.0;
/// How much rarer openings become with each one that is not closed.
const FULL: f64 = 0.6;
/// How much more often than as drawn something is closed that is open, and that is not.
const CLOSING: [f64; 2] = [1.5, 0.5];

/// A sequence as numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sequence {
    /// The symbols, by their places.
    pub(super) symbols: Vec<usize>,
    /// The number, which has mean 0 and variance 1 if numbers are spread evenly.
    pub(super) number: f64,
    /// The place of the word.
    pub(super) word: usize,
}

impl Sequence {
    /// Draws a sequence, and its cells.
    pub(super) fn draw(rule: &Positions, draws: &mut Draws) -> (Cells, Self) {
        let [least, most] = rule.lengths;
        let length = draws.whole(least, most);
        let [low, high] = rule.range;
        let number = format!("{:.*}", decimals(rule.range, STEPS), draws.between(low, high));
        let word = draws.whole(0, rule.words.len() - 1);
        let mut symbols: Vec<usize> = Vec::with_capacity(length);
        let mut depth = 0_usize;
        for _ in 0..length {
            let mut weights = rule.weights.clone();
            if let Some(last) = symbols.last() {
                weights[*last] *= rule.stay;
            }
            if let Some([open, close]) = rule.pair {
                weights[open] /= 1.0 + FULL * depth as f64;
                weights[close] *= CLOSING[usize::from(depth == 0)];
            }
            let symbol = draws.weighted(&weights);
            depth = after(symbol, rule.pair, depth);
            symbols.push(symbol);
        }
        let value = number.parse().unwrap_or(low);
        let cells = vec![rule.cell(&symbols), number, rule.words[word].clone()];
        (cells, Self { symbols, number: standard(rule.range, value), word })
    }

    /// A sequence from its cells; `None` if one is no number or not known.
    pub(super) fn read(rule: &Positions, cells: &[String]) -> Option<Self> {
        let [symbols, number, word] = cells else { return None };
        Some(Self {
            symbols: rule.parse(symbols)?,
            number: standard(rule.range, number.parse().ok()?),
            word: rule.words.iter().position(|known| known == word)?,
        })
    }

    /// The factor by which the whole sequence makes a term stronger.
    fn factor(&self, by: &By) -> f64 {
        match by {
            By::Alone => 1.0,
            By::Number { slope } => 1.0 + slope * self.number,
            By::Word { factors } => factors[self.word],
        }
    }

    /// What a form sees at each position, times the factor of the whole sequence.
    pub(super) fn seen(&self, form: &Form, by: &By) -> Vec<f64> {
        let factor = self.factor(by);
        let mut values = along(form, &self.symbols);
        for value in &mut values {
            *value *= factor;
        }
        values
    }

    /// The same of a term: mean 0 and variance 1 over many sequences.
    pub(super) fn standard(&self, term: &PositionTerm) -> Vec<f64> {
        let seen = self.seen(&term.form, &term.by);
        seen.into_iter().map(|value| (value - term.mean) / term.spread).collect()
    }

    /// The sum of terms at each position.
    pub(super) fn sum(&self, terms: &[PositionTerm]) -> Vec<f64> {
        let mut sums = vec![0.0; self.symbols.len()];
        for term in terms {
            let values = self.standard(term);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += term.weight * value);
        }
        sums
    }
}

/// A number between two bounds with mean 0 and variance 1 if numbers are spread evenly.
fn standard([low, high]: [f64; 2], value: f64) -> f64 {
    12.0_f64.sqrt() * ((value - low) / (high - low) - 0.5)
}

/// How many openings are not closed after a symbol.
fn after(symbol: usize, pair: Option<[usize; 2]>, depth: usize) -> usize {
    match pair {
        Some([open, _]) if symbol == open => depth + 1,
        Some([_, close]) if symbol == close => depth.saturating_sub(1),
        _ => depth,
    }
}

/// What a form sees at each position.
pub(super) fn along(form: &Form, symbols: &[usize]) -> Vec<f64> {
    let count = symbols.len();
    let flag = |holds: bool| f64::from(u8::from(holds));
    let fading = |distance: Option<usize>, reach: f64| {
        distance.map_or(0.0, |distance| libm::exp(-(distance as f64) / reach))
    };
    match form {
        Form::Own { values } => symbols.iter().map(|symbol| values[*symbol]).collect(),
        Form::Motif { places } => {
            let fits = |at: usize, place: &Place| {
                let there = at.checked_add_signed(isize::from(place.offset));
                there.and_then(|at| symbols.get(at)).is_some_and(|one| place.any_of.contains(one))
            };
            (0..count).map(|at| flag(places.iter().all(|place| fits(at, place)))).collect()
        }
        Form::Whole => vec![1.0; count],
        Form::Since { symbol, reach } => {
            since(symbols, *symbol).into_iter().map(|back| fading(back, *reach)).collect()
        }
        Form::Until { symbol, reach } => {
            until(symbols, *symbol).into_iter().map(|ahead| fading(ahead, *reach)).collect()
        }
        Form::Nearest { symbol, reach } => {
            let both = since(symbols, *symbol).into_iter().zip(until(symbols, *symbol));
            both.map(|(back, ahead)| fading(back.into_iter().chain(ahead).min(), *reach)).collect()
        }
        Form::Start { reach } => (0..count).map(|at| fading(Some(at), *reach)).collect(),
        Form::End { reach } => (0..count).rev().map(|left| fading(Some(left), *reach)).collect(),
        Form::Run { most } => {
            let mut run = 0;
            let step = |at: usize| {
                run = if at > 0 && symbols[at] == symbols[at - 1] { run + 1 } else { 1 };
                run.min(*most) as f64
            };
            (0..count).map(step).collect()
        }
        Form::Count { symbol, window } => {
            let held = |at: usize| {
                let first = (at + 1).saturating_sub(*window);
                symbols[first..=at].iter().filter(|one| *one == symbol).count() as f64
            };
            (0..count).map(held).collect()
        }
        Form::State { on, off } => {
            let mut state = 0.0;
            let step = |symbol: &usize| {
                if symbol == on {
                    state = 1.0;
                } else if symbol == off {
                    state = 0.0;
                }
                state
            };
            symbols.iter().map(step).collect()
        }
        Form::Depth { open, close, most } => {
            opened(symbols, *open, *close).iter().map(|o| o.len().min(*most) as f64).collect()
        }
        Form::Inside { open, close, reach } => {
            let places = opened(symbols, *open, *close);
            let back = |(at, places): (usize, &Vec<usize>)| {
                fading(places.last().map(|place| at - place), *reach)
            };
            places.iter().enumerate().map(back).collect()
        }
        Form::Toggle { symbol } => {
            let mut odd = false;
            let step = |one: &usize| {
                odd ^= one == symbol;
                flag(odd)
            };
            symbols.iter().map(step).collect()
        }
        Form::Echo { lag } => {
            let same = |at: usize| at >= *lag && symbols[at] == symbols[at - lag];
            (0..count).map(|at| flag(same(at))).collect()
        }
    }
}

/// How far back the last such symbol is, from each position.
fn since(symbols: &[usize], symbol: usize) -> Vec<Option<usize>> {
    let mut back: Option<usize> = None;
    let step = |one: &usize| {
        back = if *one == symbol { Some(0) } else { back.map(|back| back + 1) };
        back
    };
    symbols.iter().map(step).collect()
}

/// How far ahead the next such symbol is, from each position.
fn until(symbols: &[usize], symbol: usize) -> Vec<Option<usize>> {
    let turned: Vec<usize> = symbols.iter().rev().copied().collect();
    let mut ahead = since(&turned, symbol);
    ahead.reverse();
    ahead
}

/// The places of the openings that are not yet closed, at each position; a symbol that closes is
/// still inside.
fn opened(symbols: &[usize], open: usize, close: usize) -> Vec<Vec<usize>> {
    let mut places = Vec::new();
    let step = |(at, symbol): (usize, &usize)| {
        if *symbol == open {
            places.push(at);
        }
        let now = places.clone();
        if *symbol == close {
            places.pop();
        }
        now
    };
    symbols.iter().enumerate().map(step).collect()
}
