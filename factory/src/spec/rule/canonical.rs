//! A hash of a rule that ignores names and order.

use super::{Expr, Rule, Test};

impl Rule {
    /// A hash that does not depend on the names of columns, the order of terms or of factors:
    /// two tasks with the same hash ask for the same discovery.
    pub fn canonical_hash(&self) -> String {
        let mut texts: Vec<String> = self
            .terms
            .iter()
            .map(|term| format!("{:.2}*{}", term.weight / term.spread, canonical(&term.expr)))
            .collect();
        texts.sort();
        let text = format!("{:?}\n{}", self.family, texts.join("\n"));
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }
}

/// The formula of an expression without column names, commutative operands sorted.
fn canonical(expr: &Expr) -> String {
    match expr {
        Expr::Product { left, right } => {
            let mut pair = [canonical(left), canonical(right)];
            pair.sort();
            format!("({} * {})", pair[0], pair[1])
        }
        Expr::Count { of } => {
            let mut tests: Vec<String> = of.iter().map(canonical_test).collect();
            tests.sort();
            format!("count({})", tests.join(", "))
        }
        Expr::Difference { left, right } => {
            format!("({} - {})", canonical(left), canonical(right))
        }
        Expr::Deviation { reference, scale, .. } => format!("dev({reference},{scale})"),
        Expr::Ratio { shift, .. } => format!("ratio({shift})"),
        Expr::Absolute { of } => format!("abs({})", canonical(of)),
        Expr::Square { of } => format!("sq({})", canonical(of)),
        Expr::Log { shift, .. } => format!("log({shift})"),
        Expr::Wave { period, phase, .. } => format!("wave({period},{phase})"),
        Expr::If { test, then, otherwise } => {
            format!("if({},{},{})", canonical_test(test), canonical(then), canonical(otherwise))
        }
        Expr::Offset { values, .. } => {
            let mut offsets: Vec<String> = values.values().map(f64::to_string).collect();
            offsets.sort();
            format!("offset({})", offsets.join(","))
        }
        Expr::Lag { of, steps } => format!("lag({},{steps})", canonical(of)),
        Expr::Number { value } => value.to_string(),
    }
}

fn canonical_test(test: &Test) -> String {
    match test {
        Test::Above { threshold, .. } => format!("> {threshold}"),
        Test::AtMost { threshold, .. } => format!("<= {threshold}"),
        Test::Is { .. } => "is".to_owned(),
        Test::All { of } => {
            let mut tests: Vec<String> = of.iter().map(canonical_test).collect();
            tests.sort();
            tests.join(" and ")
        }
    }
}
