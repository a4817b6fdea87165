//! Rules as formulas. [`Expr`] is read back by `str::parse`.

use super::{Expr, Rule, Test};
use std::fmt;

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Above { column, threshold } => write!(f, "{column} > {threshold}"),
            Self::AtMost { column, threshold } => write!(f, "{column} <= {threshold}"),
            Self::Is { column, value } => write!(f, "{column} is {value}"),
            Self::All { of } => {
                let texts: Vec<String> = of.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join(" and "))
            }
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { value } => write!(f, "{value}"),
            Self::Deviation { column, reference, scale } => {
                let sign = if *reference < 0.0 { '+' } else { '-' };
                write!(f, "(({column} {sign} {}) / {scale})", reference.abs())
            }
            Self::Product { left, right } => {
                write!(f, "{} * {}", operand(left), operand(right))
            }
            Self::Difference { left, right } => {
                write!(f, "({} - {})", operand(left), operand(right))
            }
            Self::Ratio { over, under, shift } if *shift == 0.0 => write!(f, "{over} / {under}"),
            Self::Ratio { over, under, shift } => write!(f, "{over} / ({under} + {shift})"),
            Self::Absolute { of } => write!(f, "|{of}|"),
            Self::Square { of } => match &**of {
                Self::Square { .. } => write!(f, "({of})^2"),
                Self::Number { value } if value.is_sign_negative() => write!(f, "({of})^2"),
                _ => write!(f, "{}^2", operand(of)),
            },
            Self::Log { column, shift } => write!(f, "log({column} + {shift})"),
            Self::Wave { column, period, phase } => {
                write!(f, "sin(2 pi ({column} - {phase}) / {period})")
            }
            Self::If { test, then, otherwise } => {
                write!(f, "(if {test} then {then} else {otherwise})")
            }
            Self::Count { of } => {
                let texts: Vec<String> = of.iter().map(ToString::to_string).collect();
                write!(f, "count[{}]", texts.join("; "))
            }
            Self::Offset { column, values } => {
                let texts: Vec<String> =
                    values.iter().map(|(word, value)| format!("{word}: {value}")).collect();
                write!(f, "{column}{{{}}}", texts.join(", "))
            }
            Self::Lag { of, steps } => write!(f, "lag{steps}[{of}]"),
        }
    }
}

/// An expression as a part of a larger one: in parentheses where it would be torn apart.
fn operand(expr: &Expr) -> String {
    match expr {
        Expr::Product { .. } | Expr::Ratio { .. } => format!("({expr})"),
        _ => expr.to_string(),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, term) in self.terms.iter().enumerate() {
            let sign = match (index, term.weight < 0.0) {
                (0, false) => "",
                (0, true) => "-",
                (_, false) => " + ",
                (_, true) => " - ",
            };
            write!(f, "{sign}{:.3} z[{}]", term.weight.abs(), term.expr)?;
        }
        Ok(())
    }
}
