//! The layout of a task whose answers have a form of their own and come from no scored rule, and
//! its hidden conventions.

use crate::spec::extraction::Extraction;
use crate::spec::positions::{self, Positions};
use crate::spec::recommendation::Recommendation;
use crate::spec::retrieval::{MEASURES, Retrieval};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tasks::task::{Formulation, Modality};

/// The layout of a task whose answers have a form of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChallengeLayout {
    /// The columns of a row, in the order of the table.
    pub columns: Vec<String>,
    /// The column of the answers.
    pub target: String,
    /// What the rows speak of.
    pub wording: Wording,
    /// What is asked for, and how it is to be answered.
    pub rule: ChallengeRule,
}

/// What rows of text speak of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wording {
    /// What sentences are about, such as `the night ferry`.
    pub subjects: Vec<String>,
    /// Where and when it is, such as `on the way to the outer islands`.
    pub settings: Vec<String>,
}

/// The hidden conventions of a challenge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "challenge", rename_all = "snake_case")]
pub enum ChallengeRule {
    /// How what is written is read aloud.
    Normalisation(Normalisation),
    /// Which piece of a text is copied.
    Extraction(Extraction),
    /// What circumstances do to measurements of individuals.
    Retrieval(Retrieval),
    /// What people choose after what they chose before.
    Recommendation(Recommendation),
    /// What answers along a sequence depend on.
    Positions(Positions),
}

impl ChallengeRule {
    /// The data of challenges that ask for this; `None` where a challenge does not.
    pub fn modality(formulation: Formulation) -> Option<Modality> {
        match formulation {
            Formulation::Normalisation | Formulation::Extraction => Some(Modality::Text),
            Formulation::Retrieval | Formulation::Recommendation | Formulation::Positions => {
                Some(Modality::Tabular)
            }
            _ => None,
        }
    }

    /// Number of columns that a row of such a challenge has; 0 where a challenge does not ask
    /// for this.
    pub fn columns(formulation: Formulation) -> usize {
        match formulation {
            Formulation::Normalisation | Formulation::Extraction => 2,
            // The condition and the word.
            Formulation::Retrieval => MEASURES + 2,
            // Two words, a number, and what was chosen before.
            Formulation::Recommendation => 4,
            Formulation::Positions => positions::COLUMNS,
            _ => 0,
        }
    }

    /// What is asked for, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Normalisation(_) => "normalisation",
            Self::Extraction(_) => "extraction",
            Self::Retrieval(_) => "retrieval",
            Self::Recommendation(_) => "recommendation",
            Self::Positions(_) => "positions",
        }
    }

    /// The conventions as a line.
    pub fn formula(&self) -> String {
        match self {
            Self::Normalisation(rule) => rule.to_string(),
            Self::Extraction(rule) => rule.to_string(),
            Self::Retrieval(rule) => rule.to_string(),
            Self::Recommendation(rule) => rule.to_string(),
            Self::Positions(rule) => rule.to_string(),
        }
    }

    /// What has to be found out, without the answers: the kind, and the conventions that are not
    /// the usual ones.
    pub fn skeleton(&self) -> String {
        let parts = match self {
            Self::Normalisation(rule) => rule.unusual().join(", "),
            Self::Extraction(rule) => rule.unusual().join(", "),
            Self::Retrieval(rule) => rule.parts().join(", "),
            Self::Recommendation(rule) => rule.parts().join(", "),
            Self::Positions(rule) => rule.parts().join(", "),
        };
        format!("{}({parts})", self.kind())
    }

    /// A hash that two tasks share only if they ask for the same discoveries.
    pub fn canonical_hash(&self) -> String {
        let text = format!("{}: {}", self.kind(), self.formula());
        blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
    }
}

/// Something that is read aloud in one of several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Convention {
    /// What stands between hundreds and the rest.
    Hundreds,
    /// What stands between tens and ones.
    Tens,
    /// Four-digit counts.
    Thousands,
    /// Years.
    Year,
    /// Decimals.
    Decimal,
    /// The digit 0.
    Zero,
    /// Telephone numbers.
    Phone,
    /// Sums of money.
    Money,
    /// Day and month.
    Date,
    /// Times of day.
    Time,
    /// Two numbers that are compared.
    Ratio,
    /// Fractions.
    Fraction,
    /// Shares in per cent.
    Percent,
    /// Numbers with a unit.
    Measure,
    /// Places in an order.
    Ordinal,
    /// Words of capital letters.
    Letters,
}

impl Convention {
    /// Number of conventions.
    pub const COUNT: usize = 16;

    /// All conventions, in the order of their declaration.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Hundreds,
        Self::Tens,
        Self::Thousands,
        Self::Year,
        Self::Decimal,
        Self::Zero,
        Self::Phone,
        Self::Money,
        Self::Date,
        Self::Time,
        Self::Ratio,
        Self::Fraction,
        Self::Percent,
        Self::Measure,
        Self::Ordinal,
        Self::Letters,
    ];

    /// Its name in formulas and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hundreds => "hundreds",
            Self::Tens => "tens",
            Self::Thousands => "thousands",
            Self::Year => "year",
            Self::Decimal => "decimal",
            Self::Zero => "zero",
            Self::Phone => "phone",
            Self::Money => "money",
            Self::Date => "date",
            Self::Time => "time",
            Self::Ratio => "ratio",
            Self::Fraction => "fraction",
            Self::Percent => "percent",
            Self::Measure => "measure",
            Self::Ordinal => "ordinal",
            Self::Letters => "letters",
        }
    }

    /// The ways in which it can be read, the most usual first.
    pub fn options(self) -> &'static [&'static str] {
        match self {
            Self::Hundreds => &["bare", "and"],
            Self::Tens => &["space", "hyphen"],
            Self::Thousands => &["thousand", "hundreds"],
            Self::Year => &["pairs", "hundreds", "number"],
            Self::Decimal => &["point_digits", "point_number", "comma_digits", "and_hundredths"],
            Self::Zero => &["zero", "oh", "nought"],
            Self::Phone => &["digits", "doubles", "dash", "groups"],
            Self::Money => &["and_cents", "bare_cents", "two_numbers", "decimal"],
            Self::Date => &["month_day", "month_the_day", "day_of_month", "day_month"],
            Self::Time => &["two_numbers", "quarters", "past", "hours"],
            Self::Ratio => &["to", "against", "by"],
            Self::Fraction => &["quarters", "parts", "over", "out_of"],
            Self::Percent => &["percent", "per_cent", "in_a_hundred"],
            Self::Measure => &["plural", "singular", "letters"],
            Self::Ordinal => &["ordinal", "number"],
            Self::Letters => &["lower", "upper", "dotted"],
        }
    }
}

/// How everything is read: an option of each convention, by its place in
/// [`Convention::options`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Style([usize; Convention::COUNT]);

impl Style {
    /// The place of the option that is chosen for a convention; 0 is the usual one.
    pub fn option(&self, convention: Convention) -> usize {
        self.0[convention as usize]
    }

    /// The style with another option, below the number of the convention's options.
    #[must_use]
    pub fn with(mut self, convention: Convention, option: usize) -> Self {
        self.0[convention as usize] = option;
        self
    }

    /// The name of the option that is chosen for a convention.
    pub fn choice(&self, convention: Convention) -> &'static str {
        convention.options()[self.option(convention)]
    }
}

/// A style that names no option of a convention.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the convention `{0}` needs one of its options")]
pub struct UnknownOption(&'static str);

impl TryFrom<BTreeMap<String, String>> for Style {
    type Error = UnknownOption;

    fn try_from(choices: BTreeMap<String, String>) -> Result<Self, UnknownOption> {
        let mut style = Self::default();
        for convention in Convention::ALL {
            let chosen = choices.get(convention.name());
            let named = |option: &&str| chosen.is_some_and(|chosen| chosen == option);
            let place = convention.options().iter().position(named);
            style = style.with(convention, place.ok_or(UnknownOption(convention.name()))?);
        }
        Ok(style)
    }
}

impl From<Style> for BTreeMap<String, String> {
    fn from(style: Style) -> Self {
        let choice = |convention: Convention| {
            (convention.name().to_owned(), style.choice(convention).to_owned())
        };
        Convention::ALL.map(choice).into()
    }
}

/// How what is written is read aloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalisation {
    /// The option of each convention.
    pub style: Style,
}

impl Normalisation {
    /// Names of the conventions that are not the usual ones.
    fn unusual(&self) -> Vec<&'static str> {
        let unusual = |convention: &Convention| self.style.option(*convention) > 0;
        Convention::ALL.into_iter().filter(unusual).map(Convention::name).collect()
    }
}

impl fmt::Display for Normalisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |convention: Convention| {
            format!("{} = {}", convention.name(), self.style.choice(convention))
        };
        f.write_str(&Convention::ALL.map(line).join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_written_by_name_and_read_back() {
        let style = Style::default().with(Convention::Year, 2).with(Convention::Letters, 1);
        let text = serde_json::to_string(&style).unwrap();
        assert!(text.contains(r#""year":"number""#), "{text}");
        assert_eq!(serde_json::from_str::<Style>(&text).unwrap(), style);
        let other = text.replace(r#""year":"number""#, r#""year":"roman""#);
        let error = serde_json::from_str::<Style>(&other).unwrap_err().to_string();
        assert!(error.contains("`year`"), "{error}");
    }

    #[test]
    fn conventions_are_listed_in_order_and_named_once() {
        for (place, convention) in Convention::ALL.into_iter().enumerate() {
            assert_eq!(convention as usize, place);
            assert!(convention.options().len() >= 2);
        }
        let names: std::collections::BTreeSet<_> = Convention::ALL.map(Convention::name).into();
        assert_eq!(names.len(), Convention::COUNT);
    }

    #[test]
    fn skeletons_name_what_is_unusual_and_hashes_differ_by_option() {
        let rule = |style| ChallengeRule::Normalisation(Normalisation { style });
        let usual = Style::default();
        let [one, other] = [1, 2].map(|option| rule(usual.with(Convention::Year, option)));
        assert_eq!(one.skeleton(), "normalisation(year)");
        assert_eq!(one.skeleton(), other.skeleton());
        assert_ne!(one.canonical_hash(), other.canonical_hash());
    }
}
