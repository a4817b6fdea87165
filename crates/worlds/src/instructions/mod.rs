//! `instructions`: short texts with checkable wishes, after the pattern of AlpacaEval 2.0.
//!
//! `topic + wishes -> instruction -> answer -> judge -> preference over the reference answer`
//!
//! The score of a policy is its length-controlled win rate ([`win_rate`]).

mod draw;
mod episode;
mod judge;
mod logistic;
mod prompt;
#[cfg(test)]
mod tests;
mod text;
mod topics;
mod winrate;
mod wish;
mod writer;

pub use episode::InstructionEpisode;
pub use judge::{Judge, Qualities};
pub use winrate::{Comparison, WinRate, win_rate};
pub use wish::Wish;

use crate::grams::{GRAM, words};
use crate::kind::{Aggregate, Kind, Outline, Scale, Sizes};
use crate::part::Part;
use crate::spec::{Limits, TaskKind};
use agents::prompt::Prompt;
use agents::trajectory::EnvironmentVerdict;
use rand::RngExt as _;
use rand::seq::IndexedRandom as _;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use tasks::stream::Stream;

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstructionItem {
    /// What the policy reads.
    pub instruction: String,
    /// What it is about.
    pub topic: String,
    /// What it asks for, one of each kind at most.
    pub wishes: Vec<Wish>,
    /// The answer that others are compared with.
    pub reference: String,
}

/// The kind `instructions`.
#[derive(Debug)]
pub struct Instructions;

impl Kind for Instructions {
    type Item = InstructionItem;
    type Ground = Judge;
    type Episode<'a> = InstructionEpisode<'a>;

    const NAME: &'static str = "instructions";
    const VERSION: u32 = 1;
    const AGGREGATE: Aggregate = Aggregate::Of(controlled_win_rate);

    fn outline(scale: Scale) -> Outline {
        let (sizes, limits) = match scale {
            Scale::Tiny => (
                Sizes { train: 1000, dev: 100, test: 300 },
                Limits { turns: 1, turn_tokens: 96, context: 512 },
            ),
            Scale::Full => (
                Sizes { train: 2000, dev: 200, test: 805 },
                Limits { turns: 1, turn_tokens: 512, context: 4096 },
            ),
        };
        Outline {
            level: 2,
            kind: TaskKind::Static,
            objective: "Write a short text that does what an instruction asks for.",
            output: "the text",
            metric: "length_controlled_win_rate",
            limits,
            sizes,
            forbidden: &["oracle", "sealed", "judge_weights"],
        }
    }

    fn describe(scale: Scale) -> String {
        prompt::description(&Self::outline(scale))
    }

    fn ground(_: Scale, stream: Stream) -> Judge {
        draw::judge(stream)
    }

    fn draw(_: &Judge, part: Part, scale: Scale, stream: Stream) -> Option<InstructionItem> {
        draw::draw(part, scale, stream)
    }

    fn key(item: &InstructionItem) -> String {
        format!("{} {:?}", item.topic, item.wishes)
    }

    fn evidence(_: &Judge, item: &InstructionItem) -> String {
        // The end of the instruction, which says what is asked for.
        let instruction = words(&item.instruction);
        instruction[instruction.len().saturating_sub(GRAM)..].join(" ")
    }

    fn prompt(_: &Judge, item: &InstructionItem, _: Scale) -> Prompt {
        prompt::prompt(item)
    }

    fn open<'a>(ground: &'a Judge, item: &'a InstructionItem) -> InstructionEpisode<'a> {
        InstructionEpisode::new(*ground, item)
    }

    fn solve(_: &Judge, item: &InstructionItem) -> Vec<String> {
        vec![draw::ideal(item).unwrap_or_default()]
    }

    fn random(_: &InstructionEpisode<'_>, rng: &mut ChaCha8Rng) -> String {
        let all: Vec<&str> = topics::TOPICS
            .iter()
            .flat_map(|topic| topic.sentences.iter().map(|(word, _)| *word))
            .collect();
        // As many words as answers have.
        let count = rng.random_range(12..30);
        let words: Vec<&str> = (0..count).filter_map(|_| all.choose(rng).copied()).collect();
        words.join(" ") + "."
    }

    fn render(_: &Judge, item: &InstructionItem) -> String {
        format!("{}\n---\n{}", item.instruction, item.reference)
    }
}

/// The length-controlled win rate, as a share of 1.
fn controlled_win_rate(verdicts: &[&EnvironmentVerdict]) -> Option<f64> {
    let comparison = |verdict: &&EnvironmentVerdict| {
        let detail = episode::Detail::deserialize(&verdict.detail).ok()?;
        Some(detail.comparison)
    };
    let comparisons: Option<Vec<Comparison>> = verdicts.iter().map(comparison).collect();
    Some(win_rate(&comparisons?)?.length_controlled / 100.0)
}
