//! The hidden conventions of extraction: which piece of a text is copied as the answer.

use crate::spec::mix;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Words between what a clause is about and what it says of it. A story's subjects have none of
/// them, so that clauses can be taken apart.
pub const VERBS: [&str; 8] = ["was", "seemed", "felt", "looked", "remained", "proved", "is", "has"];

/// Which piece of a text is copied as the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extraction {
    /// Where praise begins.
    pub praise_from: Beginning,
    /// Where praise ends.
    pub praise_to: Ending,
    /// Where a complaint begins.
    pub complaint_from: Beginning,
    /// Where a complaint ends.
    pub complaint_to: Ending,
    /// Which one of several clauses is copied.
    pub winner: Winner,
    /// What an opinion with a `not` counts for.
    pub negation: Negation,
    /// What is copied where neither praise nor complaint is asked for.
    pub neutral: Neutral,
    /// Whether the mark behind a piece is copied.
    pub mark: Mark,
}

/// Where a piece begins in its clause. The most usual option comes first, here and below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beginning {
    /// With what the clause is about.
    #[default]
    Subject,
    /// With the conjunction before it, if there is one.
    Conjunction,
    /// With the verb.
    Verb,
    /// With the word that makes the opinion stronger or weaker, if there is one.
    Degree,
    /// With the opinion, or the `not` before it.
    Opinion,
}

/// Where a piece ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With the clause.
    #[default]
    Clause,
    /// With the last word of the opinion.
    Opinion,
    /// With its first word.
    First,
}

/// Which one of several clauses of the attitude that is asked for is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Winner {
    /// The first.
    #[default]
    First,
    /// The last.
    Last,
    /// The one with the strongest word of degree, the first of equals.
    Strongest,
    /// The one with the most words, the first of equals.
    Longest,
}

/// What an opinion with a `not` counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Negation {
    /// For the other attitude.
    #[default]
    Turned,
    /// For nothing.
    Skipped,
}

/// What is copied where neither praise nor complaint is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Neutral {
    /// The whole text.
    #[default]
    Text,
    /// The first clause without an opinion.
    Plain,
    /// The first clause.
    Opening,
    /// The last clause.
    Closing,
}

/// Whether the mark behind a piece is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It is not.
    #[default]
    Without,
    /// It is, where the piece ends with its clause.
    With,
}

impl Beginning {
    /// All options.
    pub const ALL: [Self; 5] =
        [Self::Subject, Self::Conjunction, Self::Verb, Self::Degree, Self::Opinion];
}

impl Ending {
    /// All options.
    pub const ALL: [Self; 3] = [Self::Clause, Self::Opinion, Self::First];
}

impl Winner {
    /// All options.
    pub const ALL: [Self; 4] = [Self::First, Self::Last, Self::Strongest, Self::Longest];
}

impl Negation {
    /// All options.
    pub const ALL: [Self; 2] = [Self::Turned, Self::Skipped];
}

impl Neutral {
    /// All options.
    pub const ALL: [Self; 4] = [Self::Text, Self::Plain, Self::Opening, Self::Closing];
}

impl Mark {
    /// All options.
    pub const ALL: [Self; 2] = [Self::Without, Self::With];
}

impl Extraction {
    /// Each convention with its option, by name.
    pub fn choices(&self) -> [(&'static str, String); 8] {
        [
            ("praise_from", mix::name(&self.praise_from)),
            ("praise_to", mix::name(&self.praise_to)),
            ("complaint_from", mix::name(&self.complaint_from)),
            ("complaint_to", mix::name(&self.complaint_to)),
            ("winner", mix::name(&self.winner)),
            ("negation", mix::name(&self.negation)),
            ("neutral", mix::name(&self.neutral)),
            ("mark", mix::name(&self.mark)),
        ]
    }

    /// Names of the conventions that are not the usual ones.
    pub fn unusual(&self) -> Vec<&'static str> {
        let usual = Self::default().choices();
        let pairs = self.choices().into_iter().zip(usual);
        pairs.filter(|(own, usual)| own != usual).map(|((name, _), _)| name).collect()
    }
}

impl fmt::Display for Extraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.choices().map(|(name, option)| format!("{name} = {option}"));
        f.write_str(&lines.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conventions_are_written_as_choices_name_them() {
        let rule =
            Extraction { winner: Winner::Longest, mark: Mark::With, ..Extraction::default() };
        let written = serde_json::to_value(rule).unwrap();
        for (name, option) in rule.choices() {
            assert_eq!(written[name], option);
        }
        assert_eq!(written.as_object().unwrap().len(), rule.choices().len());
        assert_eq!(rule.unusual(), ["winner", "mark"]);
        assert_eq!(serde_json::from_value::<Extraction>(written).unwrap(), rule);
    }
}
