//! The judge: a logistic function of what an answer has more of than the reference answer.
//!
//! ```text
//! p = σ(w_f · Δ(fulfilment · relevance) + w_r · Δrelevance - w_p · Δrepetition
//!       + w_l · tanh(Δcharacters / 100))
//! ```
//! Wishes that are fulfilled off the topic count for nothing.
//! The weights are drawn for each suite and stand in no file. Judges prefer longer answers; this
//! one does too, which is what the length-controlled win rate is for.

use super::InstructionItem;
use super::text::repetition;
use super::topics::Topic;
use crate::grams::words;
use rand::RngExt as _;
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;

/// Characters at which more length begins to count less.
const LENGTH: f64 = 100.0;
/// An answer is wholly on its topic with one of the topic's words in so many.
const ONE_IN: f64 = 8.0;

/// What all items share: which judge the suite has. Its weights follow from this by the code here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    judge: u64,
}

/// What the judge looks at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qualities {
    /// The share of wishes that are fulfilled.
    pub fulfilment: f64,
    /// How much of the answer is on its topic, from 0 to 1.
    pub relevance: f64,
    /// The share of runs of three words that were there before.
    pub repetition: f64,
    /// Characters.
    pub length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Weights {
    fulfilment: f64,
    relevance: f64,
    repetition: f64,
    length: f64,
}

impl Judge {
    /// A judge of its own for a suite.
    pub(super) fn draw(stream: Stream) -> Self {
        // JSON numbers are read as doubles elsewhere, which hold 53 bits.
        Self { judge: stream.seed() >> 11 }
    }

    fn weights(self) -> Weights {
        let mut rng = Stream::root(self.judge).child("instructions judge").rng();
        Weights {
            fulfilment: rng.random_range(4.0..5.5),
            relevance: rng.random_range(4.0..5.0),
            repetition: rng.random_range(2.0..3.0),
            length: rng.random_range(0.3..0.7),
        }
    }

    /// How likely the judge prefers an answer to the reference answer, from 0 to 1. An answer
    /// without a word is never preferred.
    pub fn preference(self, answer: Qualities, reference: Qualities) -> f64 {
        if answer.relevance == 0.0 && answer.length == 0 {
            return 0.0;
        }
        let weights = self.weights();
        let longer = answer.length as f64 - reference.length as f64;
        let value = weights.fulfilment
            * (answer.fulfilment * answer.relevance - reference.fulfilment * reference.relevance)
            + weights.relevance * (answer.relevance - reference.relevance)
            - weights.repetition * (answer.repetition - reference.repetition)
            + weights.length * libm::tanh(longer / LENGTH);
        sigmoid(value)
    }
}

impl Qualities {
    /// Of an answer to an item. Blanks at both ends do not count.
    pub(super) fn of(item: &InstructionItem, answer: &str) -> Self {
        let answer = answer.trim();
        let fulfilled = item.wishes.iter().filter(|wish| wish.is_fulfilled(answer)).count();
        let words = words(answer);
        let topic = Topic::named(&item.topic);
        let on_topic =
            words.iter().filter(|word| topic.is_some_and(|topic| topic.has(word))).count() as f64;
        let length = if words.is_empty() { 0 } else { answer.chars().count() };
        Self {
            fulfilment: fulfilled as f64 / item.wishes.len().max(1) as f64,
            relevance: (ONE_IN * on_topic / words.len().max(1) as f64).min(1.0),
            repetition: repetition(answer),
            length,
        }
    }
}

/// 1 / (1 + e^-x)
pub(super) fn sigmoid(value: f64) -> f64 {
    if value >= 0.0 {
        1.0 / (1.0 + libm::exp(-value))
    } else {
        let power = libm::exp(value);
        power / (1.0 + power)
    }
}
