//! A rule and its author: what is asked for, and what is checked of the answer.
//!
//! The strategist drafts a rule for every target. A [`RuleAuthor`] keeps the terms of the draft or
//! writes others; family, weights and balance stay the draft's, so an author who repeats the
//! draft's terms gets the same rule. Tables, items, queries, networks and series are asked for in
//! this way. Pictures with masks, boxes or clean copies have rules of another kind, which no
//! author is asked for.

#[cfg(test)]
mod tests;

use super::RoleRefusal;
use crate::numeric::draws::Draws;
use crate::numeric::moments::moments;
use crate::numeric::rounding::digits;
use crate::spec::blueprint::Blueprint;
use crate::spec::rule::{Expr, Family, Frame, Rule};
use crate::spec::scenario::{Effect, WordColumn};
use std::ops::RangeInclusive;

/// The least share of the variance that a term may carry.
pub(super) const LEAST_SHARE: f64 = 0.10;
/// How many terms a rule may have.
pub(super) const TERMS: RangeInclusive<usize> = 2..=5;
/// Most expressions within each other in a term.
pub(super) const MOST_DEPTH: usize = 4;
/// Most expressions and conditions of a term.
pub(super) const MOST_NODES: usize = 12;
/// Steps by which a value may be late.
pub(super) const LAGS: RangeInclusive<usize> = 1..=8;
/// Correlation with what the causes lead to expect from which on a term has their direction.
const TELLING: f64 = 0.1;
/// Largest distance from a term's mean, in standard deviations: beyond it, three of the
/// population's rows or fewer make the variance.
const MOST_TAIL: f64 = 30.0;
/// Least period of a wave, as a share of the column's range: below it, neighbouring values have
/// unrelated phases.
const LEAST_PERIOD: f64 = 0.2;

/// A number column that a rule may use.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleColumn {
    /// Its name in rules.
    pub name: String,
    /// What it measures, as far as its name does not say; empty for written columns.
    pub means: String,
    /// How it moves the target, as far as the story says.
    pub effect: Option<Effect>,
    /// The layers of a rule that it suits: `floor`, `step`, `mechanism`, ...
    pub suits: Vec<&'static str>,
    /// Smallest value in the population.
    pub low: f64,
    /// Largest value in the population.
    pub high: f64,
    /// Mean of the population, to four digits.
    pub mean: f64,
    /// Standard deviation of the population, to four digits.
    pub spread: f64,
}

impl RuleColumn {
    /// A column whose range is that of the population.
    pub(super) fn new(
        name: &str,
        means: String,
        effect: Option<Effect>,
        suits: Vec<&'static str>,
        population: &Frame,
    ) -> Self {
        let values = population.numbers.get(name).map_or(&[][..], Vec::as_slice);
        let (mean, spread) = moments(values);
        Self {
            name: name.to_owned(),
            means,
            effect,
            suits,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean: digits(mean),
            spread: digits(spread),
        }
    }
}

/// The columns that a rule may use.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleColumns {
    /// Columns of numbers.
    pub numbers: Vec<RuleColumn>,
    /// Columns of words, with all their words.
    pub words: Vec<WordColumn>,
}

/// A rule as it was drafted.
#[derive(Debug, Clone, PartialEq)]
pub struct RuleDraft {
    /// The balanced rule.
    pub(super) rule: Rule,
    /// The signed share of each of its terms, were they uncorrelated.
    pub(super) shares: Vec<f64>,
}

/// The rule of one target, as its author is asked for it.
#[derive(Debug, Clone, Copy)]
pub struct RuleRequest<'a> {
    /// The task, with the targets before this one and without mutations.
    pub blueprint: &'a Blueprint,
    /// The story's sentences of background.
    pub background: &'a str,
    /// Name of the target's column.
    pub column: &'a str,
    /// What the target stands for, as far as the story says it.
    pub means: Option<&'a str>,
    /// The target's classes from low to high, if any.
    pub classes: &'a [String],
    /// The columns that the rule may use.
    pub columns: &'a RuleColumns,
    /// The rule that was drafted.
    pub(super) draft: &'a RuleDraft,
    /// Clean rows on which the rule is balanced.
    pub(super) population: &'a Frame,
}

/// Who writes the terms of rules: returns them before they are standardised and weighted, or why
/// there are none. [`RuleRequest::rule`] says whether terms can be used. The built-in author
/// returns [`RuleRequest::drafted`].
pub type RuleAuthor<'a, E> = dyn FnMut(&RuleRequest<'_>) -> Result<Vec<Expr>, E> + 'a;

impl RuleRequest<'_> {
    /// The family of the rule.
    pub fn family(&self) -> Family {
        self.draft.rule.family
    }

    /// The terms of the draft.
    pub fn drafted(&self) -> Vec<Expr> {
        self.draft.rule.exprs()
    }

    /// The size of each term's share of the variance that the draft planned, in order.
    pub fn shares(&self) -> Vec<f64> {
        self.draft.shares.iter().map(|share| share.abs()).collect()
    }

    /// The rule of an author's terms.
    ///
    /// # Errors
    /// [`RoleRefusal`] as [`RuleRequest::rule`] has them, or the author's own error.
    pub(super) fn ask<E: From<RoleRefusal>>(
        &self,
        author: &mut RuleAuthor<'_, E>,
    ) -> Result<Rule, E> {
        let terms = author(self)?;
        if terms == self.drafted() {
            return Ok(self.draft.rule.clone());
        }
        Ok(self.rule(&terms)?)
    }

    /// The rule of these terms: each gets the share that the draft planned for the term in its
    /// place, and further ones draw theirs. A term that is not the draft's and goes with the
    /// story's causes, or against them, gets their direction.
    ///
    /// # Errors
    /// [`RoleRefusal`] with one of these codes:
    ///
    /// | code | reason |
    /// | --- | --- |
    /// | `rule_grammar` | too few or too many terms, a term that is too large, a lag without series |
    /// | `rule_column` | a column or a word that does not exist, or no term uses what records or places hold |
    /// | `rule_family` | the mechanism of the family is missing |
    /// | `rule_values` | a term that is not finite, has extreme values or a wave of short period |
    /// | `rule_share` | a term that carries less than 10 % of the variance |
    pub fn rule(&self, terms: &[Expr]) -> Result<Rule, RoleRefusal> {
        self.check_form(terms)?;
        self.columns.check(terms)?;
        if !self.family().is_in(terms) {
            let detail = format!("no term is {}", self.family().mechanism());
            return Err(RoleRefusal { code: "rule_family", detail });
        }
        self.check_worked_out(terms)?;
        self.check_values(terms)?;
        let mut shares = self.draft.shares.clone();
        let stream = self.blueprint.origin.stream("weights");
        let mut draws = Draws::new(stream.index(self.blueprint.targets.len() as u64));
        while shares.len() < terms.len() {
            let share = draws.between(0.25, 0.35);
            shares.push(if draws.chance(0.5) { share } else { -share });
        }
        let expected = self.expected();
        let directed = |(index, (share, term)): (usize, (f64, &Expr))| {
            if self.draft.rule.terms.get(index).is_some_and(|drafted| drafted.expr == *term) {
                return (share, term.clone());
            }
            let along = correlation(&term.values(self.population), &expected);
            let share = if along.abs() < TELLING { share } else { share.abs() * along.signum() };
            (share, term.clone())
        };
        let parts = shares.into_iter().zip(terms).enumerate().map(directed).collect();
        let cancelled = || RoleRefusal {
            code: "rule_share",
            detail: "the terms cancel each other: their weighted sum is constant".to_owned(),
        };
        let rule = Rule::balanced(self.family(), parts, self.population).ok_or_else(cancelled)?;
        for (index, share) in rule.shares(self.population).into_iter().enumerate() {
            if share < LEAST_SHARE {
                return Err(wrong(
                    "rule_share",
                    index,
                    terms,
                    &format!(
                        "it carries {share:.2} of the variance, and {LEAST_SHARE:.2} is the least; \
                     make it depend on columns that the other terms leave alone"
                    ),
                ));
            }
        }
        Ok(rule)
    }

    /// What the story's causes lead to expect of each row: the sum of their standardised values in
    /// their directions; 0 where the story does not say.
    fn expected(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.population.rows];
        for column in &self.columns.numbers {
            let sign = column.effect.as_ref().and_then(Effect::sign);
            let values = self.population.numbers.get(&column.name);
            let Some((sign, values)) = sign.zip(values) else { continue };
            let (mean, spread) = moments(values);
            for (sum, value) in sum.iter_mut().zip(values) {
                *sum += sign * (value - mean) / spread;
            }
        }
        sum
    }

    /// Records or places that no rule reads would be there without a reason.
    fn check_worked_out(&self, terms: &[Expr]) -> Result<(), RoleRefusal> {
        let Some(of) = self.blueprint.structure.worked_out() else { return Ok(()) };
        if terms.iter().any(|term| term.number_columns().contains(of)) {
            return Ok(());
        }
        let told = if self.blueprint.structure.records.is_some() { "records" } else { "places" };
        let detail = format!("no term uses `{of}`, which the row's {told} tell: use it");
        Err(RoleRefusal { code: "rule_column", detail })
    }

    fn check_form(&self, terms: &[Expr]) -> Result<(), RoleRefusal> {
        let code = "rule_grammar";
        if !TERMS.contains(&terms.len()) {
            let (least, most) = TERMS.into_inner();
            let detail =
                format!("{least} to {most} terms are needed, and there are {}", terms.len());
            return Err(RoleRefusal { code, detail });
        }
        for (index, term) in terms.iter().enumerate() {
            let fault = |what: &str| Err(wrong(code, index, terms, what));
            if term.depth() > MOST_DEPTH {
                return fault(&format!("more than {MOST_DEPTH} expressions are within each other"));
            }
            if term.nodes() > MOST_NODES {
                return fault(&format!("it has more than {MOST_NODES} expressions and conditions"));
            }
            if terms[..index].contains(term) {
                return fault("the same term occurs twice");
            }
            for expr in term.all() {
                let Expr::Lag { steps, .. } = expr else { continue };
                if self.blueprint.series().is_none() {
                    return fault("`lag` is for series, and rows have no order here");
                }
                if !LAGS.contains(steps) {
                    let (least, most) = LAGS.into_inner();
                    return fault(&format!("a lag has {least} to {most} steps"));
                }
            }
        }
        Ok(())
    }

    fn check_values(&self, terms: &[Expr]) -> Result<(), RoleRefusal> {
        for (index, term) in terms.iter().enumerate() {
            let fault = |what: &str| Err(wrong("rule_values", index, terms, what));
            for expr in term.all() {
                let Expr::Wave { column, period, .. } = expr else { continue };
                let range = self.columns.number(column).map(|known| known.high - known.low);
                if range.is_some_and(|range| *period < LEAST_PERIOD * range) {
                    return fault("the period of a wave is at least a fifth of the column's range");
                }
            }
            let values = term.values(self.population);
            if !values.iter().all(|value| value.is_finite()) {
                return fault("it is not a finite number in every row; keep denominators above 0");
            }
            let (mean, spread) = moments(&values);
            if !spread.is_finite() {
                return fault("its values are too large to be squared");
            }
            if spread < 1e-9 {
                return Err(wrong(
                    "rule_share",
                    index,
                    terms,
                    "it has the same value in every row",
                ));
            }
            if values.iter().any(|value| (value - mean).abs() > MOST_TAIL * spread) {
                return fault(&format!(
                    "some rows lie more than {MOST_TAIL} standard deviations from its mean"
                ));
            }
        }
        Ok(())
    }
}

impl RuleColumns {
    /// The number column of this name, if there is one.
    pub fn number(&self, name: &str) -> Option<&RuleColumn> {
        self.numbers.iter().find(|column| column.name == name)
    }

    /// Every column and every word that the terms name exists.
    fn check(&self, terms: &[Expr]) -> Result<(), RoleRefusal> {
        for (index, term) in terms.iter().enumerate() {
            let fault = |what: String| Err(wrong("rule_column", index, terms, &what));
            for column in term.number_columns() {
                if self.number(column).is_none() {
                    let known = names(self.numbers.iter().map(|column| &column.name));
                    return fault(format!(
                        "there is no number column `{column}` for the rule; use {known}"
                    ));
                }
            }
            for (column, words) in term.word_columns() {
                let Some(known) = self.words.iter().find(|known| known.name == column) else {
                    let known = names(self.words.iter().map(|column| &column.name));
                    return fault(format!(
                        "there is no word column `{column}` for the rule; there are {known}"
                    ));
                };
                if let Some(word) =
                    words.iter().find(|word| !known.words.iter().any(|w| w == *word))
                {
                    let known = names(known.words.iter());
                    return fault(format!("`{column}` has no word `{word}`; it has {known}"));
                }
            }
        }
        Ok(())
    }
}

/// The correlation of two columns of numbers; 0 where one is constant.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let ((center, spread), (middle, width)) = (moments(one), moments(other));
    let products = one.iter().zip(other).map(|(a, b)| (a - center) * (b - middle));
    let covariance = products.sum::<f64>() / one.len() as f64;
    if spread > 0.0 && width > 0.0 { covariance / (spread * width) } else { 0.0 }
}

/// Names in backquotes, or that there are none.
fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let quoted: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}

/// A refusal that names a term, by its place and its text.
fn wrong(code: &'static str, index: usize, terms: &[Expr], what: &str) -> RoleRefusal {
    RoleRefusal { code, detail: format!("term {}, `{}`: {what}", index + 1, terms[index]) }
}
