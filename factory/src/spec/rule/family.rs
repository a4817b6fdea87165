//! Families of rules, by the mechanism that has to be discovered.

use super::Expr;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The mechanism that a family of rules is built around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// If-then rules over several columns.
    RuleList,
    /// Products of two columns' deviations.
    Products,
    /// Ratios of columns, with offsets per group.
    RatioGroup,
    /// Sums of bent columns.
    Additive,
    /// A slope that depends on a condition.
    Conditional,
    /// The distance between two columns that should agree.
    Mismatch,
    /// How many conditions hold.
    Count,
    /// A driver that acts later, and differently in each regime.
    LagRegime,
}

impl Family {
    /// What at least one term of a rule of the family has to be, in words, with an example in the
    /// notation of rules.
    pub fn mechanism(self) -> &'static str {
        match self {
            Self::RuleList => {
                "a list of nested conditions on two or more columns, such as \
                 `(if a > 3 then 1 else (if b <= 20 then -1 else 0))`"
            }
            Self::Products => {
                "a product of two columns' deviations, such as `((a - 3) / 2) * ((b - 20) / 5)`"
            }
            Self::RatioGroup => {
                "a ratio of two columns, such as `a / b` or `a / (b + 4)`; where there are word \
                 columns, another term is an offset per word"
            }
            Self::Additive => {
                "two terms that bend one column each: a square, an absolute value, a logarithm or \
                 a wave, such as `((a - 3) / 2)^2` and `sin(2 pi (b - 5) / 40)`"
            }
            Self::Conditional => {
                "a slope that depends on a condition on another column, such as \
                 `(if b > 20 then ((a - 3) / 2) else -0.3 * ((a - 3) / 2))`"
            }
            Self::Mismatch => {
                "the distance between two columns that should agree, such as \
                 `|(((a - 3) / 2) - ((b - 20) / 5))|`"
            }
            Self::Count => {
                "a count of conditions on three or more columns, such as \
                 `count[a > 3; b > 20; c <= 7]`"
            }
            Self::LagRegime => {
                "an earlier value of a driver whose effect depends on the regime, such as \
                 `(if mode is night then lag2[((a - 3) / 2)] else -0.5 * lag2[((a - 3) / 2)])`"
            }
        }
    }

    /// Whether the terms have that mechanism.
    pub fn is_in(self, terms: &[Expr]) -> bool {
        let any = |has: fn(&Expr) -> bool| terms.iter().flat_map(Expr::all).any(has);
        match self {
            Self::RuleList => any(is_list),
            Self::Products => any(is_product),
            Self::RatioGroup => any(|expr| matches!(expr, Expr::Ratio { .. })),
            Self::Additive => terms.iter().filter(|term| is_bend(term)).count() >= 2,
            Self::Conditional => any(is_switched_slope),
            Self::Mismatch => any(is_distance),
            Self::Count => any(|expr| matches!(expr, Expr::Count { .. }) && reads(expr, 3)),
            Self::LagRegime => any(is_switched_lag),
        }
    }
}

/// Whether an expression reads so many number and word columns or more.
fn reads(expr: &Expr, count: usize) -> bool {
    let words: BTreeSet<&str> = expr.word_columns().into_iter().map(|(column, _)| column).collect();
    expr.number_columns().len() + words.len() >= count
}

fn is_list(expr: &Expr) -> bool {
    let nested = |expr: &&Expr| matches!(expr, Expr::If { .. });
    matches!(expr, Expr::If { .. }) && expr.children().iter().any(nested) && reads(expr, 2)
}

fn is_product(expr: &Expr) -> bool {
    let Expr::Product { left, right } = expr else { return false };
    let (left, right) = (left.number_columns(), right.number_columns());
    !left.is_empty() && !right.is_empty() && left != right
}

fn is_bend(expr: &Expr) -> bool {
    let bent = matches!(
        expr,
        Expr::Square { .. } | Expr::Absolute { .. } | Expr::Log { .. } | Expr::Wave { .. }
    );
    bent && expr.number_columns().len() == 1
}

fn is_switched_slope(expr: &Expr) -> bool {
    let Expr::If { then, otherwise, .. } = expr else { return false };
    then != otherwise && !then.number_columns().is_empty() && !otherwise.number_columns().is_empty()
}

fn is_distance(expr: &Expr) -> bool {
    let (Expr::Absolute { of } | Expr::Square { of }) = expr else { return false };
    let Expr::Difference { left, right } = &**of else { return false };
    let (left, right) = (left.number_columns(), right.number_columns());
    !left.is_empty() && !right.is_empty() && left != right
}

fn is_switched_lag(expr: &Expr) -> bool {
    let by_word = expr.conditions().iter().any(|test| test.word().is_some());
    let lag = |expr: &&Expr| matches!(expr, Expr::Lag { .. });
    matches!(expr, Expr::If { .. }) && by_word && expr.all().iter().any(lag)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Family; 8] = [
        Family::RuleList,
        Family::Products,
        Family::RatioGroup,
        Family::Additive,
        Family::Conditional,
        Family::Mismatch,
        Family::Count,
        Family::LagRegime,
    ];

    /// The formulas in backquotes of a family's mechanism.
    fn examples(family: Family) -> Vec<Expr> {
        family.mechanism().split('`').skip(1).step_by(2).map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn mechanism_examples_have_the_mechanism_and_no_other_family_does() {
        for family in ALL {
            let found: Vec<Family> =
                ALL.into_iter().filter(|other| other.is_in(&examples(family))).collect();
            // A lag that depends on the regime is a slope that depends on a condition.
            let lag = family == Family::LagRegime;
            let expected = if lag { vec![Family::Conditional, family] } else { vec![family] };
            assert_eq!(found, expected, "{family:?}");
        }
    }

    #[test]
    fn mechanism_of_one_column_alone_is_not_enough() {
        let cases = [
            (Family::RuleList, "(if a > 3 then 1 else (if a <= 1 then -1 else 0))"),
            (Family::Products, "((a - 3) / 2) * ((a - 1) / 5)"),
            (Family::Additive, "((a - 3) / 2)^2"),
            (Family::Conditional, "(if b > 20 then 1 else -1)"),
            (Family::Mismatch, "|((a - 3) / 2)|"),
            (Family::Count, "count[a > 3; a > 5; b > 1]"),
            (Family::LagRegime, "lag2[((a - 3) / 2)]"),
        ];
        for (family, text) in cases {
            assert!(!family.is_in(&[text.parse().unwrap()]), "{family:?}: {text}");
        }
    }
}
