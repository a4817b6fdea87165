//! Reads an expression in the notation in which it is printed.
//!
//! ```text
//! expression = product { "-" product }
//! product    = factor { "*" factor }
//! factor     = "-" number | quotient | power
//! quotient   = "(" column ("+" | "-") number ")" "/" number
//!            | column "/" (column | "(" column ("+" | "-") number ")")
//! power      = value [ "^" "2" ]
//! value      = number | "(" expression ")" | "|" expression "|"
//!            | "(" "if" test "then" expression "else" expression ")"
//!            | "log" "(" column ("+" | "-") number ")"
//!            | "sin" "(" "2" "pi" "(" column ("+" | "-") number ")" "/" number ")"
//!            | "count" "[" test { ";" test } "]"
//!            | "lag" steps "[" expression "]"
//!            | column "{" word ":" number { "," word ":" number } "}"
//! test       = condition { "and" condition }
//! condition  = column ">" number | column "<=" number | column "is" word
//! ```
//!
//! A column has letters, digits, `_` and `.`, and begins with a letter or `_`; a word may begin
//! with a digit. A number after a sign, a colon or a comparison may have a sign of its own. Every
//! word of the notation can also be the name of a column: what follows tells them apart.

#[cfg(test)]
mod tests;

use super::{Expr, Test};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Most characters of an expression.
const MOST_CHARACTERS: usize = 4000;
/// Most brackets within each other.
const MOST_LEVELS: usize = 24;

/// Why a text is not an expression, in words that its author can act on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("character {position}: expected {expected}, found {found}")]
pub struct ExprError {
    /// The character at which the text cannot go on, from 1.
    pub position: usize,
    /// What could stand there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl FromStr for Expr {
    type Err = ExprError;

    fn from_str(text: &str) -> Result<Self, ExprError> {
        let mut parser = Parser { text, at: 0, level: 0 };
        parser.skip_blanks();
        if text.chars().count() > MOST_CHARACTERS {
            return parser.refuse(&format!("at most {MOST_CHARACTERS} characters"));
        }
        let expr = parser.expression()?;
        if !parser.rest().is_empty() {
            return parser.refuse(
                "`*`, `-` or the end. A quotient in a product or a square is in parentheses, and \
                 a sum is several terms",
            );
        }
        Ok(expr)
    }
}

/// The text and the place up to which it is read, always at a character that is not blank.
#[derive(Debug, Clone, Copy)]
struct Parser<'a> {
    text: &'a str,
    at: usize,
    level: usize,
}

impl<'a> Parser<'a> {
    fn expression(&mut self) -> Result<Expr, ExprError> {
        if self.level == MOST_LEVELS {
            return self.refuse(&format!("at most {MOST_LEVELS} brackets within each other"));
        }
        self.level += 1;
        let mut value = self.product()?;
        while self.eat("-") {
            let (left, right) = (Box::new(value), Box::new(self.product()?));
            value = Expr::Difference { left, right };
        }
        self.level -= 1;
        Ok(value)
    }

    fn product(&mut self) -> Result<Expr, ExprError> {
        let mut value = self.factor()?;
        while self.eat("*") {
            let (left, right) = (Box::new(value), Box::new(self.factor()?));
            value = Expr::Product { left, right };
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<Expr, ExprError> {
        if self.eat("-") {
            let value = self.unsigned("a number, the only value that takes a sign")?;
            return Ok(Expr::Number { value: -value });
        }
        if let Some(expr) = self.deviation()? {
            return Ok(expr);
        }
        if let Some(expr) = self.ratio()? {
            return Ok(expr);
        }
        self.power()
    }

    /// `(column - number) / number`, if that is what follows.
    fn deviation(&mut self) -> Result<Option<Expr>, ExprError> {
        let mut ahead = *self;
        if !ahead.eat("(") {
            return Ok(None);
        }
        let Some(column) = ahead.name() else { return Ok(None) };
        let Some(sign) = ahead.sign() else { return Ok(None) };
        *self = ahead;
        let shift = self.signed(
            "a number: a column is measured as `((column - reference) / scale)`, and two columns \
             are compared as the difference of two such deviations",
        )?;
        self.need(")")?;
        if !self.eat("/") {
            return self.refuse("`/` and a scale, as in `((column - reference) / scale)`");
        }
        let scale = self.positive("the scale, a number above 0")?;
        Ok(Some(Expr::deviation(column, -sign * shift, scale)))
    }

    /// `column / column` or `column / (column + number)`, if that is what follows.
    fn ratio(&mut self) -> Result<Option<Expr>, ExprError> {
        let mut ahead = *self;
        let Some(over) = ahead.name() else { return Ok(None) };
        if !ahead.eat("/") {
            return Ok(None);
        }
        *self = ahead;
        let over = over.to_owned();
        if self.eat("(") {
            let (under, shift) = self.shifted()?;
            return Ok(Some(Expr::Ratio { over, under, shift }));
        }
        let under = self.column("a column, or `(column + number)`; only columns are divided")?;
        Ok(Some(Expr::Ratio { over, under, shift: 0.0 }))
    }

    fn power(&mut self) -> Result<Expr, ExprError> {
        let value = self.value()?;
        if self.eat("^") {
            self.need("2")?;
            return Ok(Expr::Square { of: Box::new(value) });
        }
        Ok(value)
    }

    fn value(&mut self) -> Result<Expr, ExprError> {
        if let Some(value) = self.number() {
            return Ok(Expr::Number { value });
        }
        if self.eat("|") {
            let of = Box::new(self.expression()?);
            self.need("|")?;
            return Ok(Expr::Absolute { of });
        }
        if self.eat("(") {
            let value = if self.keyword("if") { self.choice()? } else { self.expression()? };
            self.need(")")?;
            return Ok(value);
        }
        let start = *self;
        let Some(name) = self.name() else {
            return self.refuse("a number, a column, `(`, `|`, `log`, `sin`, `count` or `lag`");
        };
        let steps = name.strip_prefix("lag").and_then(|steps| steps.parse::<usize>().ok());
        if self.eat("{") {
            return self.offset(name);
        }
        match (name, steps) {
            ("log", _) if self.eat("(") => {
                let (column, shift) = self.shifted()?;
                Ok(Expr::Log { column, shift })
            }
            ("sin", _) if self.eat("(") => self.wave(),
            ("count", _) if self.eat("[") => {
                let mut of = vec![self.test()?];
                while self.eat(";") {
                    of.push(self.test()?);
                }
                self.need("]")?;
                Ok(Expr::Count { of })
            }
            (_, Some(steps)) if self.eat("[") => {
                let of = Box::new(self.expression()?);
                self.need("]")?;
                Ok(Expr::Lag { of, steps })
            }
            _ => start.refuse(
                "a value: a number column is measured as `((column - reference) / scale)`, a word \
                 column as `column{word: number, ...}`",
            ),
        }
    }

    /// What follows `if`, up to the closing parenthesis.
    fn choice(&mut self) -> Result<Expr, ExprError> {
        let test = self.test()?;
        self.need("then")?;
        let then = Box::new(self.expression()?);
        self.need("else")?;
        let otherwise = Box::new(self.expression()?);
        Ok(Expr::If { test, then, otherwise })
    }

    /// What follows `sin(`.
    fn wave(&mut self) -> Result<Expr, ExprError> {
        self.need("2")?;
        self.need("pi")?;
        self.need("(")?;
        let (column, shift) = self.shifted()?;
        self.need("/")?;
        let period = self.positive("the period, a number above 0")?;
        self.need(")")?;
        Ok(Expr::Wave { column, period, phase: -shift })
    }

    /// What follows `column{`.
    fn offset(&mut self, column: &str) -> Result<Expr, ExprError> {
        let mut values = BTreeMap::new();
        loop {
            let place = *self;
            let word = self.word("a word of the column")?;
            self.need(":")?;
            let value = self.signed("the number that stands for the word")?;
            if values.insert(word.to_owned(), value).is_some() {
                return place.refuse("each word once");
            }
            if !self.eat(",") {
                break;
            }
        }
        self.need("}")?;
        Ok(Expr::Offset { column: column.to_owned(), values })
    }

    fn test(&mut self) -> Result<Test, ExprError> {
        let mut of = vec![self.condition()?];
        while self.keyword("and") {
            of.push(self.condition()?);
        }
        Ok(if of.len() == 1 { of.remove(0) } else { Test::All { of } })
    }

    fn condition(&mut self) -> Result<Test, ExprError> {
        let column = self.column("the column of a condition")?;
        if self.eat("<=") {
            return Ok(Test::AtMost { column, threshold: self.signed("a threshold")? });
        }
        if self.keyword("is") {
            let value = self.word("a word of the column")?.to_owned();
            return Ok(Test::Is { column, value });
        }
        if self.rest().starts_with(">=") || !self.eat(">") {
            return self.refuse("`>`, `<=` or `is`");
        }
        Ok(Test::Above { column, threshold: self.signed("a threshold")? })
    }

    /// `column + number` and the closing parenthesis; what is added to the column.
    fn shifted(&mut self) -> Result<(String, f64), ExprError> {
        let column = self.column("a column")?;
        let Some(sign) = self.sign() else {
            return self.refuse("`+` or `-` and a number");
        };
        let shift = sign * self.signed("a number")?;
        self.need(")")?;
        Ok((column, shift))
    }

    fn column(&mut self, what: &str) -> Result<String, ExprError> {
        match self.name() {
            Some(name) => Ok(name.to_owned()),
            None => self.refuse(what),
        }
    }

    fn positive(&mut self, what: &str) -> Result<f64, ExprError> {
        let place = *self;
        let value = self.signed(what)?;
        if value > 0.0 { Ok(value) } else { place.refuse(what) }
    }

    /// A number that may have a sign.
    fn signed(&mut self, what: &str) -> Result<f64, ExprError> {
        let sign = if self.eat("-") { -1.0 } else { 1.0 };
        Ok(sign * self.unsigned(what)?)
    }

    fn unsigned(&mut self, what: &str) -> Result<f64, ExprError> {
        match self.number() {
            Some(value) => Ok(value),
            None => self.refuse(what),
        }
    }

    /// 1 for a plus sign, -1 for a minus sign.
    fn sign(&mut self) -> Option<f64> {
        if self.eat("+") {
            return Some(1.0);
        }
        self.eat("-").then_some(-1.0)
    }

    /// A finite number without a sign: digits, a fraction, an exponent.
    fn number(&mut self) -> Option<f64> {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let rest = self.rest();
        let mut length = digits(rest);
        if length == 0 {
            return None;
        }
        if let Some(fraction) = rest[length..].strip_prefix('.') {
            let count = digits(fraction);
            length += if count == 0 { 0 } else { 1 + count };
        }
        if let Some(exponent) = rest[length..].strip_prefix(['e', 'E']) {
            let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            let count = digits(unsigned);
            let sign = exponent.len() - unsigned.len();
            length += if count == 0 { 0 } else { 1 + sign + count };
        }
        let value = rest[..length].parse::<f64>().ok().filter(|value| value.is_finite())?;
        self.advance(length);
        Some(value)
    }

    /// The name of a column or a word of the notation.
    fn name(&mut self) -> Option<&'a str> {
        let starts = self.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts {
            return None;
        }
        Some(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
    }

    /// A word of a word column.
    fn word(&mut self, what: &str) -> Result<&'a str, ExprError> {
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        if word.is_empty() { self.refuse(what) } else { Ok(word) }
    }

    /// Reads a word of the notation that another word follows.
    fn keyword(&mut self, keyword: &str) -> bool {
        let mut ahead = *self;
        let found = ahead.name() == Some(keyword)
            && ahead.rest().starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if found {
            *self = ahead;
        }
        found
    }

    fn need(&mut self, sign: &str) -> Result<(), ExprError> {
        if self.eat(sign) { Ok(()) } else { self.refuse(&format!("`{sign}`")) }
    }

    /// Reads a sign, if it follows.
    fn eat(&mut self, sign: &str) -> bool {
        let found = self.rest().starts_with(sign);
        if found {
            self.advance(sign.len());
        }
        found
    }

    fn take_while(&mut self, inside: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !inside(c)).unwrap_or(rest.len());
        self.advance(length);
        &rest[..length]
    }

    /// Goes on by so many bytes, and to the next character that is not blank.
    fn advance(&mut self, bytes: usize) {
        self.at += bytes;
        self.skip_blanks();
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn refuse<T>(&self, expected: &str) -> Result<T, ExprError> {
        let mut here = *self;
        let found = match here.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
            "" => self.rest().chars().next().map(|c| c.to_string()),
            word => Some(word.to_owned()),
        };
        Err(ExprError {
            position: self.text[..self.at].chars().count() + 1,
            expected: expected.to_owned(),
            found: found.map_or_else(|| "the end".to_owned(), |found| format!("`{found}`")),
        })
    }
}
