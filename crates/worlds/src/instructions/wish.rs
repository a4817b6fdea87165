//! What an instruction asks for, each checked by looking at the answer.

use super::text::{mentions, position, sentences};
use crate::grams::words;
use serde::{Deserialize, Serialize};

/// One wish. An instruction has at most one of each of the five kinds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wish {
    /// Mention: a word.
    Mention(String),
    /// Order: a word before another.
    Order(String, String),
    /// Count: exactly this many sentences.
    Sentences(usize),
    /// Count: at most this many words.
    WordsAtMost(usize),
    /// Form: each line begins with a dash, and there are several.
    List,
    /// Form: a first line that says only this.
    Title(String),
    /// Form: a question at the end.
    Question,
    /// Form: this word first.
    Opening(String),
    /// Tone: an exclamation mark.
    Cheerful,
    /// Tone: no exclamation mark.
    Calm,
    /// Tone: thanks.
    Polite,
    /// Tone: a person who says I.
    Personal,
}

impl Wish {
    /// The wish in one of its wordings.
    pub fn tell(&self, wording: usize) -> String {
        let texts: [String; 2] = match self {
            Self::Mention(word) => {
                [format!("Mention {word}."), format!("Say something of {word}.")]
            }
            Self::Order(first, then) => [
                format!("Mention {first} before {then}."),
                format!("First speak of {first}, later of {then}."),
            ],
            Self::Sentences(count) => [
                format!("Use exactly {count} sentences."),
                format!("Write {count} sentences, no more and no fewer."),
            ],
            Self::WordsAtMost(count) => [
                format!("Use at most {count} words."),
                format!("Do not write more than {count} words."),
            ],
            Self::List => [
                "Write a list in which each line begins with a dash.".to_owned(),
                "Put each sentence on a line of its own, after a dash.".to_owned(),
            ],
            Self::Title(title) => [
                format!("Begin with a line that says only {title}."),
                format!("Put the title {title} on the first line."),
            ],
            Self::Question => {
                ["End with a question.", "Ask something at the end."].map(str::to_owned)
            }
            Self::Opening(word) => {
                [format!("Begin with the word {word}."), format!("The first word is to be {word}.")]
            }
            Self::Cheerful => {
                ["Use an exclamation mark.", "Be cheerful, with an exclamation mark."]
                    .map(str::to_owned)
            }
            Self::Calm => ["Use no exclamation mark.", "Be calm, without exclamation marks."]
                .map(str::to_owned),
            Self::Polite => {
                ["Thank the reader.", "Be polite and say thank you."].map(str::to_owned)
            }
            Self::Personal => {
                ["Speak as a person who says I.", "Use the word I for yourself."].map(str::to_owned)
            }
        };
        let [first, second] = texts;
        if wording.is_multiple_of(2) { first } else { second }
    }

    /// Whether an answer does it. An answer without a word does nothing.
    pub fn is_fulfilled(&self, answer: &str) -> bool {
        if words(answer).is_empty() {
            return false;
        }
        let answer = answer.trim();
        match self {
            Self::Mention(word) => mentions(answer, word),
            Self::Order(first, then) => match (position(answer, first), position(answer, then)) {
                (Some(first), Some(then)) => first < then,
                _ => false,
            },
            Self::Sentences(count) => sentences(answer) == *count,
            Self::WordsAtMost(count) => words(answer).len() <= *count,
            Self::List => {
                let mut lines = answer.lines().filter(|line| !line.trim().is_empty());
                lines.clone().count() > 1 && lines.all(|line| line.trim_start().starts_with("- "))
            }
            Self::Title(title) => {
                let (first, rest) = answer.split_once('\n').unwrap_or((answer, ""));
                first.trim() == title && !rest.trim().is_empty()
            }
            Self::Question => answer.ends_with('?'),
            Self::Opening(word) => answer
                .strip_prefix(word.as_str())
                .is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric())),
            Self::Cheerful => answer.contains('!'),
            Self::Calm => !answer.contains('!'),
            Self::Polite => mentions(answer, "thank") || mentions(answer, "thanks"),
            Self::Personal => {
                answer.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "I")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_checked_by_what_the_answer_has() {
        let word = |text: &str| text.to_owned();
        for (wish, good, bad) in [
            (Wish::Mention(word("honey")), "Honey is sweet.", "Honeycomb is sweet."),
            (Wish::Order(word("a"), word("b")), "A, then b.", "B, then a."),
            (Wish::Order(word("a"), word("b")), "a b a", "a"),
            (Wish::Sentences(2), "One. Two!", "One, two."),
            (Wish::Sentences(2), "One... Two", "One. Two. 3."),
            (Wish::WordsAtMost(3), "One two, three.", "One two three four."),
            (Wish::List, "- One.\n- Two.", "- One."),
            (Wish::List, "- One.\n\n  - Two.", "- One.\nTwo."),
            (Wish::Title(word("Bees")), "Bees\nThey fly.", "Bees fly."),
            (Wish::Title(word("Bees")), " Bees \n\nThey fly.", "Bees"),
            (Wish::Question, "It is. Is it?\n", "Is it? It is."),
            (Wish::Opening(word("Today")), "Today, it is.", "Todays it is."),
            (Wish::Cheerful, "Yes!", "Yes."),
            (Wish::Calm, "Yes.", "Yes!"),
            (Wish::Polite, "Thank you.", "Please."),
            (Wish::Personal, "So I say.", "It is IX, i think."),
        ] {
            assert!(wish.is_fulfilled(good), "{wish:?} {good}");
            assert!(!wish.is_fulfilled(bad), "{wish:?} {bad}");
            assert!(!wish.is_fulfilled("") && !wish.is_fulfilled("- \n-"), "{wish:?}");
            assert_ne!(wish.tell(0), wish.tell(1));
        }
    }
}
