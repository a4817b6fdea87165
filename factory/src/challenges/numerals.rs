//! Numbers in English words.

use crate::spec::challenge::{Convention, Style};

const BELOW_TWENTY: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
/// Words whose ordinal is another word.
const IRREGULAR: [(&str, &str); 7] = [
    ("one", "first"),
    ("two", "second"),
    ("three", "third"),
    ("five", "fifth"),
    ("eight", "eighth"),
    ("nine", "ninth"),
    ("twelve", "twelfth"),
];

/// How numbers are put into words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Numerals {
    and: bool,
    hyphen: bool,
    hundreds: bool,
}

impl Numerals {
    pub(super) fn new(style: &Style) -> Self {
        let chosen = |convention| style.option(convention) > 0;
        Self {
            and: chosen(Convention::Hundreds),
            hyphen: chosen(Convention::Tens),
            hundreds: chosen(Convention::Thousands),
        }
    }

    /// A number below a million.
    pub(super) fn cardinal(self, number: usize) -> String {
        match number {
            0..20 => BELOW_TWENTY[number].to_owned(),
            20..100 => {
                let tens = TENS[number / 10];
                let joint = if self.hyphen { "-" } else { " " };
                match number % 10 {
                    0 => tens.to_owned(),
                    ones => format!("{tens}{joint}{}", BELOW_TWENTY[ones]),
                }
            }
            100..1000 => self.of_hundred(number),
            1000..10_000 if self.hundreds && number % 1000 >= 100 => self.of_hundred(number),
            _ => {
                let thousands = self.cardinal(number / 1000);
                match number % 1000 {
                    0 => format!("{thousands} thousand"),
                    rest @ 1..100 if self.and => {
                        format!("{thousands} thousand and {}", self.cardinal(rest))
                    }
                    rest => format!("{thousands} thousand {}", self.cardinal(rest)),
                }
            }
        }
    }

    /// A number as so many hundred and the rest.
    pub(super) fn of_hundred(self, number: usize) -> String {
        let hundreds = self.cardinal(number / 100);
        match number % 100 {
            0 => format!("{hundreds} hundred"),
            rest if self.and => format!("{hundreds} hundred and {}", self.cardinal(rest)),
            rest => format!("{hundreds} hundred {}", self.cardinal(rest)),
        }
    }

    /// A place in an order.
    pub(super) fn ordinal(self, number: usize) -> String {
        let words = self.cardinal(number);
        let start = words.rfind([' ', '-']).map_or(0, |place| place + 1);
        let (before, last) = words.split_at(start);
        let irregular = IRREGULAR.iter().find(|(cardinal, _)| *cardinal == last);
        let last = match (irregular, last.strip_suffix('y')) {
            (Some((_, ordinal)), _) => (*ordinal).to_owned(),
            (None, Some(stem)) => format!("{stem}ieth"),
            (None, None) => format!("{last}th"),
        };
        format!("{before}{last}")
    }
}

/// The value of a Roman numeral up to 39.
pub(super) fn roman(text: &str) -> Option<usize> {
    (1..40).find(|value| to_roman(*value) == text)
}

/// A number up to 39 as a Roman numeral.
pub(super) fn to_roman(value: usize) -> String {
    const ONES: [&str; 10] = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"];
    format!("{}{}", "X".repeat(value / 10), ONES[value % 10])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_style() {
        let usual = Numerals::new(&Style::default());
        let style = Style::default()
            .with(Convention::Hundreds, 1)
            .with(Convention::Tens, 1)
            .with(Convention::Thousands, 1);
        let other = Numerals::new(&style);
        let cases = [
            (21, "twenty one", "twenty-one"),
            (105, "one hundred five", "one hundred and five"),
            (1250, "one thousand two hundred fifty", "twelve hundred and fifty"),
            (4007, "four thousand seven", "four thousand and seven"),
            (90_000, "ninety thousand", "ninety thousand"),
        ];
        for (number, one, two) in cases {
            assert_eq!((usual.cardinal(number), other.cardinal(number)), (one.into(), two.into()));
        }
        assert_eq!(usual.ordinal(32), "thirty second");
        assert_eq!(other.ordinal(30), "thirtieth");
        assert_eq!(other.ordinal(112), "one hundred and twelfth");
    }

    #[test]
    fn roman_numerals_are_read_back() {
        for value in 1..40 {
            assert_eq!(roman(&to_roman(value)), Some(value));
        }
        assert_eq!((to_roman(14), roman("IIII"), roman("USB")), ("XIV".to_owned(), None, None));
    }
}
