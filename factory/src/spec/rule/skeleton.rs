//! What kind of formula a rule is, without columns and constants.

use super::{Expr, Rule, Test};
use crate::spec::layout::NetworkLayout;

impl Rule {
    /// The types of the rule's terms, sorted: two rules with the same skeleton differ in columns,
    /// constants and signs alone. Columns are `x` where a table holds them, `item` where an item
    /// carries them, `near` where neighbours do, and `word`.
    pub fn skeleton(&self) -> String {
        let mut terms: Vec<String> = self.terms.iter().map(|term| skeleton(&term.expr)).collect();
        terms.sort();
        terms.join(" + ")
    }
}

fn skeleton(expr: &Expr) -> String {
    let both = |left: &Expr, right: &Expr, mark: &str| {
        let mut pair = [skeleton(left), skeleton(right)];
        pair.sort();
        pair.join(mark)
    };
    match expr {
        Expr::Number { .. } => "1".to_owned(),
        Expr::Deviation { column, .. } => kind(column).to_owned(),
        Expr::Product { left, right } => match (&**left, &**right) {
            // A factor is a constant like a weight.
            (Expr::Number { .. }, of) | (of, Expr::Number { .. }) => skeleton(of),
            (left, right) => both(left, right, " * "),
        },
        Expr::Difference { left, right } => match &**left {
            Expr::Number { .. } => skeleton(right),
            left => format!("({})", both(left, right, " - ")),
        },
        Expr::Ratio { over, under, .. } => format!("{} / {}", kind(over), kind(under)),
        Expr::Absolute { of } => format!("|{}|", skeleton(of)),
        Expr::Square { of } => format!("{}^2", skeleton(of)),
        Expr::Log { column, .. } => format!("log {}", kind(column)),
        Expr::Wave { column, .. } => format!("wave {}", kind(column)),
        Expr::If { test, then, otherwise } => {
            format!("if {}: {} else {}", condition(test), skeleton(then), skeleton(otherwise))
        }
        Expr::Count { of } => {
            let mut tests: Vec<String> = of.iter().map(condition).collect();
            tests.sort();
            format!("count({})", tests.join(", "))
        }
        Expr::Offset { .. } => "word".to_owned(),
        Expr::Lag { of, .. } => format!("late {}", skeleton(of)),
    }
}

fn condition(test: &Test) -> String {
    let single = |test: &&Test| match test.number_column() {
        Some(column) => kind(column),
        None => "word",
    };
    let mut columns: Vec<&str> = test.single().iter().map(single).collect();
    columns.sort_unstable();
    columns.join(" and ")
}

/// Where a column's values are found.
fn kind(column: &str) -> &'static str {
    if NetworkLayout::STRUCTURE.contains(&column) || NetworkLayout::is_hidden(column) {
        "near"
    } else if column.contains('.') {
        "item"
    } else {
        "x"
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Family, Term};
    use super::*;

    fn skeleton(terms: &[&str]) -> String {
        let term =
            |text: &&str| Term { weight: 1.0, mean: 0.0, spread: 1.0, expr: text.parse().unwrap() };
        Rule { family: Family::Products, terms: terms.iter().map(term).collect() }.skeleton()
    }

    #[test]
    fn skeleton_forgets_columns_constants_and_order() {
        let one = skeleton(&["((a - 3) / 2)", "((b - 3) / 2) * ((a - 1) / 2)"]);
        let other = skeleton(&["((a - 7) / 9) * ((c - 1) / 2)", "((d - 2) / 2)"]);
        assert_eq!((one.as_str(), other.as_str()), ("x + x * x", "x + x * x"));
        assert_ne!(one, skeleton(&["((a - 3) / 2)", "((photo.hue - 3) / 2) * ((a - 1) / 2)"]));
    }

    #[test]
    fn skeleton_keeps_the_types_of_terms() {
        for (text, expected) in [
            ("a / (b + 4)", "x / x"),
            ("((a - 3) / 2)^2", "x^2"),
            ("|(((a - 3) / 2) - ((b - 20) / 5))|", "|(x - x)|"),
            ("count[a > 3; b > 20; w is k]", "count(word, x, x)"),
            ("(if w is k then ((a - 3) / 2) else -0.3 * ((a - 3) / 2))", "if word: x else x"),
            (
                "(if w is k then lag2[((a - 3) / 2)] else -0.5 * lag2[((a - 3) / 2)])",
                "if word: late x else late x",
            ),
            ("((a.near - 3) / 2)", "near"),
        ] {
            assert_eq!(skeleton(&[text]), expected);
        }
    }
}
