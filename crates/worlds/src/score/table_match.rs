//! Answers about tables: exact, or within a share of the truth.
//!
//! TableBench compares lists of answers separated by commas, each with the same share of the
//! score. Numbers are rounded to the fewest decimals in the truth; percentages are divided by 100
//! and rounded to four.

use super::is_python_space;

/// How answers are prepared before they are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableRule {
    /// In lower case, numbers as numbers.
    #[default]
    Strict,
    /// As TableBench's program does it: without articles and punctuation, the decimal point, the
    /// minus, the percent sign and the comma included. So `3.14` is `314`, `-5` is `5`, and a list is
    /// one answer.
    TableBench,
}

impl TableRule {
    /// A text as this rule compares it.
    pub fn prepare(self, text: &str) -> String {
        match self {
            Self::Strict => text.to_lowercase().trim_matches(is_python_space).to_owned(),
            Self::TableBench => normalise(text),
        }
    }
}

/// In lower case, without ASCII punctuation, without the words `a`, `an` and `the`, with single
/// blanks.
pub fn normalise(text: &str) -> String {
    let lower = text.to_lowercase();
    let plain: String = lower.chars().filter(|letter| !letter.is_ascii_punctuation()).collect();
    let (mut kept, mut word) = (String::new(), String::new());
    for letter in plain.chars().chain([' ']) {
        if letter.is_alphanumeric() {
            word.push(letter);
        } else {
            let is_article = matches!(word.as_str(), "a" | "an" | "the");
            kept.push_str(if is_article { " " } else { &word });
            kept.push(letter);
            word.clear();
        }
    }
    kept.split(is_python_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A number with a point, as Python's `Decimal`: `units / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    units: u128,
    scale: u32,
}

/// The digits that Python's `Decimal` keeps; a rounded number with more is an error there.
const DIGITS: usize = 28;

impl Decimal {
    /// Reads what `Decimal` reads of finite numbers; `None` for the rest, and for numbers too
    /// large to compare.
    fn read(text: &str) -> Option<Self> {
        let text = text.replace('_', "");
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(&text)),
        };
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let units: u128 = digits.parse().ok()?;
        let scale = i32::try_from(fraction.len()).ok()? - exponent;
        let Ok(scale) = u32::try_from(scale) else {
            let units = units.checked_mul(10_u128.checked_pow(scale.unsigned_abs())?)?;
            return Some(Self { is_negative, units, scale: 0 });
        };
        Some(Self { is_negative, units, scale })
    }

    /// A number, or a percentage as a share with four decimals.
    fn read_share(text: &str) -> Option<Self> {
        if !text.ends_with('%') {
            return Self::read(text);
        }
        let number = Self::read(text.trim_matches('%'))?;
        Self { scale: number.scale + 2, ..number }.round(4)
    }

    /// Rounded to this many decimals, halves away from zero; `None` if it has too many digits then.
    fn round(self, decimals: u32) -> Option<Self> {
        let units = if self.scale <= decimals {
            self.units.checked_mul(10_u128.checked_pow(decimals - self.scale)?)?
        } else {
            match 10_u128.checked_pow(self.scale - decimals) {
                Some(unit) => self.units / unit + u128::from(self.units % unit >= unit.div_ceil(2)),
                // Less than half a unit.
                None => 0,
            }
        };
        (units.to_string().len() <= DIGITS).then_some(Self { units, scale: decimals, ..self })
    }

    fn value(self) -> f64 {
        let size = self.units as f64 / 10_f64.powi(i32::try_from(self.scale).unwrap_or(i32::MAX));
        if self.is_negative { -size } else { size }
    }

    /// Whether two numbers of the same scale are one, zero without its sign.
    fn equals(self, other: Self) -> bool {
        self.units == other.units && (self.is_negative == other.is_negative || self.units == 0)
    }
}

/// Whether TableBench takes a text for a number or a percentage.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let text = text.strip_suffix('%').unwrap_or(text);
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, fraction)) => are_digits(whole) && are_digits(fraction),
        None => are_digits(text),
    }
}

fn parts(text: &str) -> Vec<&str> {
    text.split(',').map(|part| part.trim_matches(is_python_space)).collect()
}

/// The share of the answers in `truth` that `answer` has at the same place, in [0, 1].
fn share_matched(truth: &str, answer: &str, matches: impl Fn(&str, &str) -> bool) -> f64 {
    let (truth, answer) = (parts(truth), parts(answer));
    let hits = truth.iter().zip(&answer).filter(|(truth, answer)| matches(truth, answer)).count();
    hits as f64 / truth.len() as f64
}

/// The share of the answers in `truth`, which are separated by commas, that `answer` has at the same
/// place, in [0, 1].
///
/// # Examples
/// ```rust
/// use worlds::score::{TableRule, exact_match};
///
/// assert_eq!(exact_match("3.14, Oslo", "3.141, oslo", TableRule::Strict), 1.0);
/// assert_eq!(exact_match("3.14", "314", TableRule::Strict), 0.0);
/// assert_eq!(exact_match("3.14", "314", TableRule::TableBench), 1.0);
/// ```
pub fn exact_match(truth: &str, answer: &str, rule: TableRule) -> f64 {
    let (truth, answer) = (rule.prepare(truth), rule.prepare(answer));
    let decimals = |text: &&str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let numbers = parts(&truth).into_iter().filter(|text| is_number(text) && !text.ends_with('%'));
    let fewest = numbers.map(|text| decimals(&text)).min().unwrap_or(0);
    let fewest = u32::try_from(fewest).unwrap_or(u32::MAX);
    share_matched(&truth, &answer, |truth, answer| {
        if !is_number(truth) {
            return truth == answer;
        }
        let is_share = truth.ends_with('%');
        let read = |text: &str| {
            let number = Decimal::read_share(text)?;
            if is_share { number.round(number.scale.max(4)) } else { number.round(fewest) }
        };
        let (Some(truth), Some(answer)) = (read(truth), read(answer)) else { return false };
        if !is_share {
            // Rounded numbers are compared as texts, so `-0.0` is not `0.0`.
            return truth == answer;
        }
        let scale = truth.scale.max(answer.scale);
        match (truth.round(scale), answer.round(scale)) {
            (Some(truth), Some(answer)) => truth.equals(answer),
            _ => false,
        }
    })
}

/// As [`exact_match`], but a number only has to be within `share` of the truth, such as 0.1; of a
/// truth of 0 it has to be 0.
pub fn match_within(truth: &str, answer: &str, share: f64, rule: TableRule) -> f64 {
    let (truth, answer) = (rule.prepare(truth), rule.prepare(answer));
    share_matched(&truth, &answer, |truth, answer| {
        if !is_number(truth) {
            return truth == answer;
        }
        let (Some(truth), Some(answer)) = (Decimal::read_share(truth), Decimal::read_share(answer))
        else {
            return false;
        };
        let (truth, answer) = (truth.value(), answer.value());
        // Numbers of a few digits: what doubles add to the difference is far below 1e-12 of them.
        truth == answer || (truth != 0.0 && (truth - answer).abs() <= (share + 1e-12) * truth.abs())
    })
}
