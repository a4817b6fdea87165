//! Draws the rule of a task along its story.

use super::sequence::Sequence;
use crate::numeric::draws::{Draws, floor};
use crate::numeric::moments::moments;
use crate::numeric::rounding::digits;
use crate::spec::positions::{
    By, Form, Place, PositionAnswer, PositionTarget, PositionTerm, Positions,
};
use crate::spec::scenario::{ChallengeScenario, PositionStory};
use tasks::task::Split;

/// Sequences on which terms are brought to one scale.
const POPULATION: usize = 300;
/// How rare a symbol becomes whose single occurrences matter.
const MARKER: f64 = 0.55;
/// How often a held-out rule has a form that training rules have not.
const NOVEL: f64 = 0.7;
/// How often a number is asked for, several numbers, a class.
const ASKED: [f64; 3] = [0.4, 0.25, 0.35];
/// How often a rule looks at an end of the sequence.
const ENDS: f64 = 0.45;
/// How often both far terms are made stronger, one by the number and the other by the word.
const BOTH: f64 = 0.3;
/// How fast a term grows with the number: by half where it is high, never against its direction.
const SLOPE: f64 = 0.5;
/// Where between its bounds the number lies that a sum of 0 stands for.
const CENTER: f64 = 0.45;
/// How many units of the sum lie between the bounds of a number.
const UNITS: f64 = 6.5;

/// Draws a rule for a story.
///
/// # Panics
/// If the story says nothing of positions, which its check rules out.
pub(super) fn plan(story: &ChallengeScenario, split: Split, draws: &mut Draws) -> Positions {
    let told = story.positions.as_ref().expect("the story was checked");
    let symbols = story.columns[0].words.clone();
    let place = |name: &String| symbols.iter().position(|symbol| symbol == name).unwrap_or(0);
    let weights = symbols.iter().map(|_| digits(draws.between(0.7, 1.3))).collect();
    let shortest = draws.whole(20, 35);
    let mut rule = Positions {
        sequence: story.id.clone(),
        place: told.place.clone(),
        weights,
        stay: digits(draws.between(1.2, 2.2)),
        pair: told.pair.as_ref().map(|pair| pair.each_ref().map(place)),
        range: story.columns[1].range.unwrap_or([0.0, 1.0]),
        words: story.columns[2].words.clone(),
        lengths: [shortest, shortest + draws.whole(40, 75)],
        symbols: symbols.clone(),
        targets: Vec::new(),
    };
    let sides = [&told.raises, &told.lowers].map(|side| side.iter().map(place).collect());
    let mut maker = Maker { told, sides, pair: rule.pair, symbols: symbols.len(), draws };
    let novel = split == Split::Val && maker.draws.chance(NOVEL);
    let asked = asked(story, told, maker.draws);
    let drawn: Vec<Vec<Drafted>> = asked.iter().map(|_| maker.terms(novel)).collect();
    // What only now is known to matter for where it occurs becomes rare.
    for symbol in drawn.iter().flatten().flat_map(|term| term.form.markers()) {
        if rule.weights[symbol] > MARKER {
            rule.weights[symbol] = digits(rule.weights[symbol] * MARKER);
        }
    }
    let population: Vec<Sequence> =
        (0..POPULATION).map(|_| Sequence::draw(&rule, draws).1).collect();
    for ((column, answer), terms) in asked.into_iter().zip(drawn) {
        let target = balanced(column, terms, &population);
        rule.targets.push(linked(target, answer, &population, draws));
    }
    rule
}

/// A term that is not yet brought to scale: what it looks at, its share, its direction.
struct Drafted {
    form: Form,
    by: By,
    share: f64,
    sign: f64,
}

/// What is asked for: columns, and what their answers are like, without what follows from the rule.
fn asked(
    story: &ChallengeScenario,
    told: &PositionStory,
    draws: &mut Draws,
) -> Vec<(String, PositionAnswer)> {
    let number = |range: [f64; 2], decimals| {
        let [low, high] = range;
        let center = digits(low + CENTER * (high - low));
        let scale = digits((high - low) / UNITS);
        PositionAnswer::Number { center, scale, range, decimals }
    };
    let main = (story.target.clone(), number(told.range, told.decimals));
    let mut chances = ASKED;
    chances[1] = if told.also.is_empty() { 0.0 } else { chances[1] };
    chances[2] = if told.class.is_none() { 0.0 } else { chances[2] };
    match (draws.weighted(&chances), &told.class) {
        (1, _) => {
            let also = told.also.iter();
            let also = also.map(|one| (one.name.clone(), number(one.range, one.decimals)));
            std::iter::once(main).chain(also).collect()
        }
        (2, Some(class)) => {
            let classes = class.words.clone();
            vec![(class.name.clone(), PositionAnswer::Class { classes, cuts: Vec::new() })]
        }
        _ => vec![main],
    }
}

/// Draws the terms of a story's rules.
struct Maker<'a> {
    told: &'a PositionStory,
    /// The symbols that raise the target, and those that lower it.
    sides: [Vec<usize>; 2],
    pair: Option<[usize; 2]>,
    /// Number of symbols.
    symbols: usize,
    draws: &'a mut Draws,
}

impl Maker<'_> {
    /// The terms of one target: the symbol itself, a motif, maybe an end, two far ones, and the number
    /// of the whole sequence.
    fn terms(&mut self, novel: bool) -> Vec<Drafted> {
        let alone = |form, share, sign| Drafted { form, by: By::Alone, share, sign };
        let own = self.own();
        let mut terms = vec![alone(own, self.draws.between(0.16, 0.24), 1.0)];
        let motif = self.motif();
        let sign = self.coin();
        terms.push(alone(motif, self.draws.between(0.1, 0.16), sign));
        if self.draws.chance(ENDS) {
            let reach = digits(self.draws.between(5.0, 14.0));
            let late = self.told.late.sign();
            let (form, sign) = if self.draws.chance(0.5) {
                (Form::Start { reach }, -late)
            } else {
                (Form::End { reach }, late)
            };
            terms.push(alone(form, self.draws.between(0.07, 0.12), sign));
        }
        let mut far = self.far(novel);
        self.draws.shuffle(&mut far);
        let [by, other] = self.factors();
        let shares = [self.draws.between(0.3, 0.38), self.draws.between(0.2, 0.28)];
        for (((form, sign), by), share) in far.into_iter().zip([by, other]).zip(shares) {
            terms.push(Drafted { form, by, share, sign });
        }
        let slope = SLOPE;
        let share = self.draws.between(0.05, 0.09);
        let sign = self.told.number.sign();
        terms.push(Drafted { form: Form::Whole, by: By::Number { slope }, share, sign });
        terms
    }

    fn coin(&mut self) -> f64 {
        if self.draws.chance(0.5) { 1.0 } else { -1.0 }
    }

    /// A number for each symbol, in the direction that the story says.
    fn own(&mut self) -> Form {
        let value = |symbol| {
            let drawn = self.draws.between(0.5, 1.3);
            let little = self.draws.between(-0.25, 0.25);
            let sided = [0, 1].map(|side| self.sides[side].contains(&symbol));
            digits(match sided {
                [true, _] => drawn,
                [_, true] => -drawn,
                _ => little,
            })
        };
        Form::Own { values: (0..self.symbols).map(value).collect() }
    }

    /// Two or three places around a position, each with half of the symbols or so.
    fn motif(&mut self) -> Form {
        let offsets: &[&[i8]] = &[&[-1, 0], &[0, 1], &[-2, 0], &[-1, 1], &[-1, 0, 1], &[-2, -1, 0]];
        let offsets = *self.draws.pick(offsets);
        let held = if offsets.len() > 2 { self.symbols * 3 / 5 } else { self.symbols / 2 };
        let place = |offset: &i8| {
            let mut any_of: Vec<usize> = (0..self.symbols).collect();
            self.draws.shuffle(&mut any_of);
            any_of.truncate(held.max(2));
            any_of.sort_unstable();
            Place { offset: *offset, any_of }
        };
        Form::Motif { places: offsets.iter().map(place).collect() }
    }

    /// A symbol of a side, and the direction of that side.
    fn sided(&mut self) -> (usize, f64) {
        let side = self.draws.whole(0, 1);
        let symbol = *self.draws.pick(&self.sides[side]);
        (symbol, if side == 0 { 1.0 } else { -1.0 })
    }

    /// Two terms that look farther than neighbours, of different forms; the first is held out if
    /// asked for.
    fn far(&mut self, novel: bool) -> Vec<(Form, f64)> {
        let paired = self.pair.is_some();
        let mut usual = vec!["since", "until", "nearest", "count", "state", "run"];
        let mut rare = vec!["toggle", "echo"];
        if paired {
            // Where something is opened and closed, it matters more often than not.
            usual.extend(["depth", "depth"]);
            rare.push("inside");
        }
        let mut names = Vec::new();
        if novel {
            names.push(*self.draws.pick(&rare));
        }
        while names.len() < 2 {
            let name = *self.draws.pick(&usual);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter().map(|name| self.far_form(name)).collect()
    }

    /// A form with its direction.
    fn far_form(&mut self, name: &str) -> (Form, f64) {
        let inside = self.told.inside.sign();
        let [open, close] = self.pair.unwrap_or([0, 0]);
        match name {
            "since" => {
                let (symbol, sign) = self.sided();
                (Form::Since { symbol, reach: digits(self.draws.between(5.0, 10.0)) }, sign)
            }
            "until" => {
                let (symbol, sign) = self.sided();
                (Form::Until { symbol, reach: digits(self.draws.between(5.0, 10.0)) }, sign)
            }
            "nearest" => {
                let (symbol, sign) = self.sided();
                (Form::Nearest { symbol, reach: digits(self.draws.between(4.0, 7.0)) }, sign)
            }
            "count" => {
                let (symbol, sign) = self.sided();
                (Form::Count { symbol, window: self.draws.whole(9, 16) }, sign)
            }
            "state" => {
                let [on, off] = [0, 1].map(|side| *self.draws.pick(&self.sides[side]));
                (Form::State { on, off }, 1.0)
            }
            "run" => (Form::Run { most: self.draws.whole(4, 6) }, self.told.run.sign()),
            "depth" => (Form::Depth { open, close, most: self.draws.whole(3, 4) }, inside),
            "inside" => {
                let reach = digits(self.draws.between(4.0, 8.0));
                (Form::Inside { open, close, reach }, inside)
            }
            "toggle" => {
                let (symbol, sign) = self.sided();
                (Form::Toggle { symbol }, sign)
            }
            _ => (Form::Echo { lag: self.draws.whole(3, 5) }, self.coin()),
        }
    }

    /// What makes the two far terms stronger: the number or the word of the sequence one of them, and
    /// at times something the other one, too.
    fn factors(&mut self) -> [By; 2] {
        let number = By::Number { slope: SLOPE * self.told.number.sign() };
        let mut factors =
            [0.1, 1.0, 1.9].map(|factor| digits(factor + self.draws.between(0.0, 0.1)));
        self.draws.shuffle(&mut factors);
        let word = By::Word { factors: factors.to_vec() };
        let by_number = self.draws.chance(0.5);
        let (one, other) = if by_number { (number, word) } else { (word, number) };
        let other = if self.draws.chance(BOTH) { other } else { By::Alone };
        if self.draws.chance(0.5) { [one, other] } else { [other, one] }
    }
}

/// A target whose terms have mean 0 and variance 1 each, and their sum as well.
fn balanced(column: String, drafted: Vec<Drafted>, population: &[Sequence]) -> PositionTarget {
    let scaled = |Drafted { form, by, share, sign }: Drafted| {
        let seen: Vec<f64> = population.iter().flat_map(|one| one.seen(&form, &by)).collect();
        let (mean, spread) = moments(&seen);
        let (mean, spread) = (digits(mean), digits(spread.max(1e-6)));
        PositionTerm { form, by, mean, spread, weight: sign * share.sqrt() }
    };
    let mut terms: Vec<PositionTerm> = drafted.into_iter().map(scaled).collect();
    let sums: Vec<f64> = population.iter().flat_map(|one| one.sum(&terms)).collect();
    let (_, spread) = moments(&sums);
    for term in &mut terms {
        term.weight = digits(term.weight / spread.max(1e-6));
    }
    // The link is drawn next.
    let answer = PositionAnswer::Class { classes: Vec::new(), cuts: Vec::new() };
    PositionTarget { column, terms, noise: 0.0, answer }
}

/// The target with its noise, and with cuts where it is a class.
fn linked(
    target: PositionTarget,
    answer: PositionAnswer,
    population: &[Sequence],
    draws: &mut Draws,
) -> PositionTarget {
    match answer {
        PositionAnswer::Number { .. } => {
            let noise = digits(draws.between(0.36, 0.5));
            PositionTarget { noise, answer, ..target }
        }
        PositionAnswer::Class { classes, .. } => {
            let noise = digits(draws.between(0.16, 0.24));
            let sums = population.iter().flat_map(|one| one.sum(&target.terms));
            let mut noisy: Vec<f64> = sums.map(|sum| sum + noise * draws.logistic()).collect();
            noisy.sort_by(f64::total_cmp);
            let at = |share: f64| digits(noisy[floor((noisy.len() - 1) as f64 * share)]);
            let low = draws.between(0.36, 0.44);
            let cuts = vec![at(low), at(low + draws.between(0.28, 0.34))];
            let answer = PositionAnswer::Class { classes, cuts };
            PositionTarget { noise, answer, ..target }
        }
    }
}
