//! An episode: one answer, compared with the reference answer.

use super::judge::{Judge, Qualities};
use super::winrate::Comparison;
use super::{InstructionItem, draw};
use crate::kind::{Answer, Episode};
use agents::trajectory::EnvironmentVerdict;
use serde::{Deserialize, Serialize};

/// An answer is off its topic below this.
const RELEVANT: f64 = 0.5;
/// An answer repeats itself above this.
const REPETITIVE: f64 = 0.3;

/// An episode on one instruction.
#[derive(Debug)]
pub struct InstructionEpisode<'a> {
    judge: Judge,
    item: &'a InstructionItem,
    answer: Option<String>,
}

/// The details of a verdict.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Detail {
    pub(super) comparison: Comparison,
    answer: Qualities,
    reference: Qualities,
}

impl<'a> InstructionEpisode<'a> {
    /// Before the only turn.
    pub fn new(judge: Judge, item: &'a InstructionItem) -> Self {
        Self { judge, item, answer: None }
    }

    /// The preference for an answer, and its length.
    fn compare(&self, answer: &str, reference: Qualities) -> (f64, usize) {
        let qualities = Qualities::of(self.item, answer);
        (self.judge.preference(qualities, reference), qualities.length)
    }
}

impl Episode for InstructionEpisode<'_> {
    fn respond(&mut self, text: &str) -> Answer {
        let understood = text.contains(char::is_alphanumeric);
        self.answer = Some(text.to_owned());
        Answer { observation: String::new(), understood, thought: false, over: true }
    }

    fn verdict(&self) -> EnvironmentVerdict {
        let item = self.item;
        let answer = Qualities::of(item, self.answer.as_deref().unwrap_or_default());
        let reference = Qualities::of(item, &item.reference);
        let preference = self.judge.preference(answer, reference);
        let ideal = draw::ideal(item).unwrap_or_default();
        let (best, _) = self.compare(&ideal, reference);
        let [short, long] = draw::gamed(item).unwrap_or_default();
        let comparison = Comparison {
            preference,
            length: answer.length,
            reference_length: reference.length,
            difficulty: item.wishes.len(),
            gamed: [self.compare(&short, reference), self.compare(&long, reference)],
        };
        let mut tags = vec![format!("wishes_{}", item.wishes.len())];
        let lost = if answer.length == 0 {
            Some("empty")
        } else if preference >= 0.5 {
            None
        } else if answer.relevance < RELEVANT {
            Some("irrelevant")
        } else if answer.repetition > REPETITIVE {
            Some("repetitive")
        } else if answer.fulfilment < reference.fulfilment {
            Some("wishes")
        } else {
            Some("close")
        };
        tags.extend(lost.map(str::to_owned));
        let detail = Detail { comparison, answer, reference };
        EnvironmentVerdict {
            // Of what can be reached: the best answer is not always far better than the reference.
            reward: if best > 0.0 { (preference / best).min(1.0) } else { preference },
            score: preference,
            tags,
            detail: serde_json::to_value(detail).expect("numbers are plain data"),
        }
    }
}
