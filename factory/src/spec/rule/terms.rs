//! The rule itself: a weighted sum of standardised expressions.

use super::{Expr, Family, Frame};
use crate::numeric::moments::moments;
use crate::numeric::rounding::digits;
use serde::{Deserialize, Serialize};

/// One standardised and weighted expression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Its weight in the score.
    pub weight: f64,
    /// The population's mean of `expr`.
    pub mean: f64,
    /// The population's standard deviation of `expr`.
    pub spread: f64,
    /// The expression before it is standardised.
    pub expr: Expr,
}

/// A hidden rule: the formula behind one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// What it is built around.
    pub family: Family,
    /// Terms of the sum that makes the score, 2 to 5 of them.
    pub terms: Vec<Term>,
}

impl Rule {
    /// A rule whose terms have the given shares of the variance on `population`, were they
    /// uncorrelated; the score's variance is then scaled to 1.
    ///
    /// Returns `None` if a term is constant.
    pub fn balanced(family: Family, parts: Vec<(f64, Expr)>, population: &Frame) -> Option<Self> {
        let mut terms = Vec::with_capacity(parts.len());
        for (weight, expr) in parts {
            let (mean, spread) = moments(&expr.values(population));
            if spread < 1e-9 {
                return None;
            }
            let weight = weight.signum() * weight.abs().sqrt();
            // Four significant digits are what the formula shows.
            terms.push(Term { weight, mean: digits(mean), spread: digits(spread), expr });
        }
        let mut rule = Self { family, terms };
        let (_, spread) = moments(&rule.score(population));
        if spread < 1e-9 {
            return None;
        }
        for term in &mut rule.terms {
            term.weight = digits(term.weight / spread);
        }
        Some(rule)
    }

    /// The expressions of its terms.
    pub fn exprs(&self) -> Vec<Expr> {
        self.terms.iter().map(|term| term.expr.clone()).collect()
    }

    /// Each term's values: the transforms a model needs to recover the rule.
    pub fn transforms(&self, frame: &Frame) -> Vec<Vec<f64>> {
        let standardise = |term: &Term| {
            let values = term.expr.values(frame);
            values.into_iter().map(|v| (v - term.mean) / term.spread).collect()
        };
        self.terms.iter().map(standardise).collect()
    }

    /// The noise-free score of every row.
    pub fn score(&self, frame: &Frame) -> Vec<f64> {
        let mut score = vec![0.0; frame.rows];
        for (term, values) in self.terms.iter().zip(self.transforms(frame)) {
            for (sum, value) in score.iter_mut().zip(values) {
                *sum += term.weight * value;
            }
        }
        score
    }

    /// The share of the score's variance that each term carries: cov(term, score) / var(score).
    pub fn shares(&self, frame: &Frame) -> Vec<f64> {
        let score = self.score(frame);
        let (mean, spread) = moments(&score);
        let share = |(term, values): (&Term, Vec<f64>)| {
            let (own, _) = moments(&values);
            let covariance: f64 =
                values.iter().zip(&score).map(|(v, s)| (v - own) * (s - mean)).sum::<f64>()
                    / frame.rows as f64;
            term.weight * covariance / (spread * spread)
        };
        self.terms.iter().zip(self.transforms(frame)).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Test;
    use super::*;
    use std::collections::BTreeMap;

    fn frame() -> Frame {
        Frame {
            numbers: BTreeMap::from([
                ("a".to_owned(), vec![1.0, 2.0, 3.0, 4.0]),
                ("b".to_owned(), vec![2.0, 1.0, 4.0, 3.0]),
            ]),
            words: BTreeMap::from([(
                "g".to_owned(),
                ["x", "y", "x", "z"].map(str::to_owned).to_vec(),
            )]),
            block: 2,
            rows: 4,
        }
    }

    fn product(left: &str, right: &str) -> Expr {
        let factor =
            |name: &str| Box::new(Expr::deviation(name, 2.0, if name == "a" { 1.0 } else { 3.0 }));
        Expr::Product { left: factor(left), right: factor(right) }
    }

    #[test]
    fn expressions_mean_what_they_print() {
        let ratio = Expr::Ratio { over: "a".to_owned(), under: "b".to_owned(), shift: 1.0 };
        assert_eq!(ratio.values(&frame()), [1.0 / 3.0, 1.0, 0.6, 1.0]);
        assert_eq!(ratio.to_string(), "a / (b + 1)");
        let offset = Expr::Offset {
            column: "g".to_owned(),
            values: BTreeMap::from([("x".to_owned(), 2.0), ("y".to_owned(), -1.0)]),
        };
        assert_eq!(offset.values(&frame()), [2.0, -1.0, 2.0, 0.0]);
        let count = Expr::Count {
            of: vec![
                Test::Above { column: "a".to_owned(), threshold: 2.0 },
                Test::Is { column: "g".to_owned(), value: "x".to_owned() },
            ],
        };
        assert_eq!(count.values(&frame()), [1.0, 0.0, 2.0, 1.0]);
        assert_eq!(count.to_string(), "count[a > 2; g is x]");
    }

    #[test]
    fn a_lag_stays_inside_its_series() {
        let lag = Expr::Lag { of: Box::new(Expr::deviation("a", 0.0, 1.0)), steps: 1 };
        assert_eq!(lag.values(&frame()), [1.0, 1.0, 3.0, 3.0]);
    }

    #[test]
    fn a_balanced_rule_has_unit_variance_and_shares_that_sum_to_one() {
        let parts = vec![(0.3, Expr::deviation("a", 0.0, 1.0)), (-0.7, product("a", "b"))];
        let rule = Rule::balanced(Family::Products, parts, &frame()).unwrap();
        let (_, spread) = moments(&rule.score(&frame()));
        assert!((spread - 1.0).abs() < 1e-2);
        assert!((rule.shares(&frame()).iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_hash_ignores_names_and_order_but_not_structure() {
        let rule = |expr: Expr| Rule {
            family: Family::Products,
            terms: vec![Term { weight: 1.0, mean: 0.0, spread: 1.0, expr }],
        };
        let hash = rule(product("a", "b")).canonical_hash();
        assert_eq!(hash, rule(product("b", "a")).canonical_hash());
        assert_ne!(hash, rule(product("b", "b")).canonical_hash());
    }

    #[test]
    fn rules_round_trip_through_json() {
        let parts = vec![(0.3, Expr::deviation("a", 0.1, 0.7)), (-0.7, product("a", "b"))];
        let rule = Rule::balanced(Family::Products, parts, &frame()).unwrap();
        let text = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
    }
}
